package integration_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
)

// recording is the flag that makes a server record requests.
const recording = "--trace-requests=1000"

// why returns the server's answer to the question why it called or didn't call a webhook for an object.
func why(t testing.TB, srv *miniapitest.Server, webhook, resource, namespace, name string) trace.Answer {
	t.Helper()
	body, err := srv.Client().Discovery().RESTClient().Get().AbsPath(admissiontrace.WhyPath).
		Param("webhook", webhook).Param("resource", resource).Param("namespace", namespace).Param("name", name).DoRaw(t.Context())
	var answers admissiontrace.Why
	if err == nil {
		err = json.Unmarshal(body, &answers)
	}
	if err != nil || len(answers.Answers) != 1 {
		t.Fatalf("asking why %s and %s %s/%s: error %v, answer %s", webhook, resource, namespace, name, err, body)
	}
	return answers.Answers[0]
}

// recorded returns the recorded requests for a resource.
func recorded(t testing.TB, srv *miniapitest.Server, resource string) []*trace.Request {
	t.Helper()
	body, err := srv.Client().Discovery().RESTClient().Get().AbsPath(admissiontrace.RequestsPath).Param("resource", resource).DoRaw(t.Context())
	var list admissiontrace.List
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		t.Fatalf("listing recorded requests: %v", err)
	}
	return list.Requests
}

// question is a row of the table in docs/trace.md. A row has a reason why the server doesn't call a webhook, or a
// reason why the call of the webhook isn't the whole answer.
type question struct {
	name, reason string
	// hook is the webhook that the question is about. The test installs it before the request, together with other
	// webhooks.
	hook   hook
	others []hook
	// before prepares the request, and request makes the request. By default, request creates a ConfigMap with the
	// label app=db.
	before  func(*testing.T, *miniapitest.Server)
	request func(context.Context, *miniapitest.Server) error
	// These fields are the resource, namespace and name of the request's object. By default, the object is the
	// ConfigMap in the namespace default.
	resource, namespace, object string

	// want and field are the reason and the field in the server's answer. called tells whether the webhook is called.
	want   trace.Reason
	field  string
	called bool
	// again is the reason why the second round of mutating plugins doesn't call the webhook.
	again trace.Reason
}

// Each of these functions changes a selector or the failurePolicy of a webhook.
var (
	failsOpen     = failurePolicy(admissionregistrationv1.Ignore)
	labelledWeb   = objectSelector(map[string]string{"app": "web"})
	inProduction  = namespaceLabels(map[string]string{"env": "prod"}, nil)
	notKubeSystem = namespaceLabels(nil, []metav1.LabelSelectorRequirement{
		{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{metav1.NamespaceSystem}},
	})
)

func namespaceLabels(labels map[string]string, expressions []metav1.LabelSelectorRequirement) change {
	return func(h *hook) {
		h.NamespaceSelector = &metav1.LabelSelector{MatchLabels: labels, MatchExpressions: expressions}
	}
}

func matchCondition(expression string) change {
	return func(h *hook) {
		h.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "only", Expression: expression}}
	}
}

func scope(scope admissionregistrationv1.ScopeType) change {
	return func(h *hook) { h.Rules[0].Scope = &scope }
}

func noRules(h *hook) { h.Rules = nil }

// costs is a CEL expression. Its cost grows with the size of the object's data.
const costs = `object.data.all(a, object.data.all(b, object.data.all(c, object.data.all(d, a + b + c + d != ''))))`

func askedFor(namespace string, change func(*corev1.ConfigMap)) func(context.Context, *miniapitest.Server) error {
	return func(ctx context.Context, srv *miniapitest.Server) error {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "thing", Labels: map[string]string{"app": "db"}}}
		change(object)
		_, err := srv.Client().CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{})
		return err
	}
}

func unchangedConfigMap(*corev1.ConfigMap) {}

func patchNamespace(subresources ...string) func(context.Context, *miniapitest.Server) error {
	return func(ctx context.Context, srv *miniapitest.Server) error {
		_, err := srv.Client().CoreV1().Namespaces().Patch(ctx, "default", types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"x"}}}`), metav1.PatchOptions{}, subresources...)
		return err
	}
}

// questions returns the rows of the table in docs/trace.md, by their names.
func questions() []question {
	return []question{
		{name: "another API group", reason: "rules name the groups",
			hook: validating("asked", allow(), on("*", "apps/v1", "configmaps")), want: trace.RuleGroup,
			field: "webhooks[0].rules[0].apiGroups"},
		{name: "another API version", reason: "rules name the versions",
			hook: validating("asked", allow(), on("*", "v2", "configmaps")), want: trace.RuleVersion,
			field: "webhooks[0].rules[0].apiVersions"},
		{name: "another resource", reason: "rules name the resources",
			hook: validating("asked", allow(), on("*", "v1", "secrets")), want: trace.RuleResource,
			field: "webhooks[0].rules[0].resources"},
		{name: "a subresource", reason: "a resource's name doesn't match subresources",
			hook: validating("asked", allow(), on("*", "v1", "namespaces")), request: patchNamespace("status"),
			resource: "namespaces", object: "default", want: trace.RuleSubresource,
			field: "webhooks[0].rules[0].resources"},
		{name: "a subresource and the rule *", reason: "* stands for all resources and for no subresource",
			hook: validating("asked", allow(), on("*", "*/*", "*")), request: patchNamespace("status"),
			resource: "namespaces", object: "default", want: trace.RuleSubresource,
			field: "webhooks[0].rules[0].resources"},
		{name: "a namespaced object and scope Cluster", reason: "a ConfigMap is in a namespace",
			hook: validating("asked", allow(), scope(admissionregistrationv1.ClusterScope)), want: trace.RuleScope,
			field: "webhooks[0].rules[0].scope"},
		{name: "a cluster's object and scope Namespaced", reason: "a namespace is a cluster-scoped object",
			hook:    validating("asked", allow(), on("*", "v1", "namespaces"), scope(admissionregistrationv1.NamespacedScope)),
			request: patchNamespace(), resource: "namespaces", object: "default", want: trace.RuleScope,
			field: "webhooks[0].rules[0].scope"},
		{name: "another operation", reason: "rules name the operations",
			hook: validating("asked", allow(), on("UPDATE DELETE", "v1", "configmaps")), want: trace.RuleOperation,
			field: "webhooks[0].rules[0].operations"},
		{name: "no rules", reason: "a webhook without rules matches nothing",
			hook: validating("asked", allow(), noRules), want: trace.NoRules, field: "webhooks[0].rules"},
		{name: "matchPolicy Exact", reason: "the rule names another version of the same objects",
			hook:    validating("asked", allow(), on("*", "autoscaling/v1", "horizontalpodautoscalers"), matchPolicy(admissionregistrationv1.Exact)),
			request: createAutoscaler, resource: "horizontalpodautoscalers", want: trace.MatchPolicyExact,
			field: "webhooks[0].matchPolicy"},

		{name: "namespaceSelector", reason: "the namespace lacks the label",
			hook: validating("asked", allow(), inProduction), want: trace.NamespaceSelector,
			field: `webhooks[0].namespaceSelector.matchLabels["env"]`},
		{name: "kube-system is left out", reason: "many webhooks exclude kube-system by its name",
			hook:    validating("asked", allow(), notKubeSystem),
			request: askedFor(metav1.NamespaceSystem, unchangedConfigMap), namespace: metav1.NamespaceSystem,
			want: trace.NamespaceSelector, field: "webhooks[0].namespaceSelector.matchExpressions[0]"},
		{name: "namespaceSelector for a namespace", reason: "a namespace is compared by its own labels",
			hook: validating("asked", allow(), on("*", "v1", "namespaces"), inProduction), request: patchNamespace(),
			resource: "namespaces", object: "default", want: trace.NamespaceSelector,
			field: `webhooks[0].namespaceSelector.matchLabels["env"]`},
		{name: "objectSelector", reason: "the label has another value", hook: validating("asked", allow(), labelledWeb),
			want: trace.ObjectSelector, field: `webhooks[0].objectSelector.matchLabels["app"]`},
		{name: "objectSelector in an update", reason: "neither the new nor the old object has the label",
			hook: validating("asked", allow(), on("UPDATE", "v1", "configmaps"), labelledWeb), before: existing,
			request: updateAsked, want: trace.ObjectSelector, field: `webhooks[0].objectSelector.matchLabels["app"]`},
		{name: "objectSelector in a deletion", reason: "the old object counts",
			hook: validating("asked", allow(), on("DELETE", "v1", "configmaps"), labelledWeb), before: existing,
			request: deleteAsked, want: trace.ObjectSelector, field: `webhooks[0].objectSelector.matchLabels["app"]`},
		{
			name:   "an earlier webhook changed the label",
			reason: "each webhook is compared with the object that earlier webhooks have changed",
			hook:   validating("asked", allow(), objectSelector(map[string]string{"app": "db"})),
			others: []hook{mutating("a-earlier", patch(miniapitest.Replace("/metadata/labels/app", "changed")))},
			want:   trace.ObjectSelectorChanged, field: `webhooks[0].objectSelector.matchLabels["app"]`,
		},
		{name: "a matchCondition is false", reason: "all conditions must be true",
			hook: validating("asked", allow(), matchCondition("request.userInfo.username == 'alice'")),
			want: trace.MatchConditionFalse, field: "webhooks[0].matchConditions[0] (only)"},
		{name: "a matchCondition fails, ignored", reason: "failurePolicy Ignore leaves the webhook out",
			hook: validating("asked", allow(), matchCondition("object.data.missing == 'x'"), failsOpen),
			want: trace.MatchConditionFailed, field: "webhooks[0].matchConditions[0] (only)"},
		{name: "a matchCondition fails", reason: "failurePolicy Fail refuses the request without a call",
			hook: validating("asked", allow(), matchCondition("object.data.missing == 'x'")),
			want: trace.MatchConditionRefused, field: "webhooks[0].matchConditions[0] (only)"},
		{name: "a matchCondition costs too much", reason: "the server bounds the cost",
			hook:    validating("asked", allow(), matchCondition(costs), failsOpen),
			request: askedFor("default", manyData), want: trace.MatchConditionCost,
			field: "webhooks[0].matchConditions[0] (only)"},

		{name: "a configuration of webhooks", reason: "a webhook can't stand in the way of its own repair",
			hook: validating("asked", allow(), everything), request: createConfiguration,
			resource: "validatingwebhookconfigurations", want: trace.ExemptConfiguration},
		{name: "side effects in a dry run", reason: "a dry run must have no side effects",
			hook: validating("asked", allow()), before: sideEffectsSome("Ignore"), request: dryRunAsked,
			want: trace.DryRunSideEffects, field: "webhooks[0].sideEffects"},
		{name: "side effects refuse a dry run", reason: "the dry run is refused, whatever the failurePolicy",
			hook: validating("asked", allow()), before: sideEffectsSome("Fail"), request: dryRunAsked,
			want: trace.DryRunSideEffects, field: "webhooks[0].sideEffects"},
		{
			name: "reinvocationPolicy Never", reason: "a later webhook changed the object, and the policy forbids a second call",
			hook:   mutating("asked", allow(), neverIsReinvoked),
			others: []hook{mutating("b-later", patch(miniapitest.Add("/metadata/labels/b", "1")))},
			called: true, want: trace.Matched, field: "webhooks[0].rules[0]", again: trace.ReinvocationNever,
		},
		{
			name: "no need to reinvoke", reason: "nothing changed after the call in the first round",
			hook:   mutating("asked", patch(miniapitest.Add("/metadata/labels/asked", "1")), mayBeReinvoked),
			others: []hook{mutating("a-earlier", allow())},
			called: true, want: trace.Matched, field: "webhooks[0].rules[0]", again: trace.ReinvocationUnneeded,
		},
		{
			name:   "a match in the second round alone",
			reason: "a later webhook added the label, and the second round calls only webhooks of the first",
			hook:   mutating("asked", allow(), labelledWeb),
			others: []hook{mutating("b-later", patch(miniapitest.Replace("/metadata/labels/app", "web")))},
			want:   trace.ObjectSelector, field: `webhooks[0].objectSelector.matchLabels["app"]`, again: trace.ReinvocationFirstMatch,
		},
		{name: "an earlier mutating webhook refuses", reason: "later webhooks aren't called",
			hook: mutating("asked", allow()), others: []hook{mutating("a-earlier", deny("no"))},
			want: trace.RefusedEarlier},
		{name: "a mutating webhook refuses before validating ones", reason: "mutating webhooks come first",
			hook: validating("asked", allow()), others: []hook{mutating("b-mutating", deny("no"))},
			want: trace.RefusedEarlier},
		{name: "an admission plugin refuses", reason: "the namespace doesn't exist", hook: mutating("asked", allow()),
			request: askedFor("missing", unchangedConfigMap), namespace: "missing", want: trace.RefusedEarlier},
		{name: "a policy refuses", reason: "policies come before webhooks", hook: validating("asked", allow()),
			before: refusingPolicy, want: trace.RefusedEarlier},
		{name: "an invalid object", reason: "validation comes before validating webhooks",
			hook:    validating("asked", allow()),
			request: askedFor("default", func(c *corev1.ConfigMap) { c.Data = map[string]string{"a b": ""} }),
			want:    trace.Invalid},
		{name: "authorization refuses the request", reason: "authorization comes before admission",
			hook: validating("asked", allow(), on("UPDATE", "v1", "configmaps")), before: existing,
			request: updateAskedByNobody, want: trace.Forbidden},
		{name: "a fault ends the request", reason: "a test injects a fault into the server",
			hook: validating("asked", allow()), before: faulty("status: 500"), want: trace.Faulted},
		{name: "a fault breaks the call", reason: "a test injects a fault into calls of webhooks",
			hook: validating("asked", allow(), failsOpen), before: faulty("webhooks: ['*'], wrongUID: true"),
			called: true, want: trace.Matched, field: "webhooks[0].rules[0]"},
		{name: "the call failed, ignored", reason: "failurePolicy Ignore lets the request pass",
			hook: unreachable(validating("asked", nil, failsOpen)), called: true, want: trace.Matched,
			field: "webhooks[0].rules[0]"},
		{name: "configured after the request", reason: "a webhook is called only for later requests",
			before: configuredLater, want: trace.ConfiguredLater},
		{name: "no such webhook", reason: "no webhook has this name and kind", want: trace.NotConfigured},
		{name: "no such object", reason: "no client has requested the object",
			request: func(context.Context, *miniapitest.Server) error { return nil }, object: "never-asked-for",
			hook: validating("asked", allow()), want: trace.NotRecorded},
	}
}

func manyData(c *corev1.ConfigMap) {
	c.Data = map[string]string{}
	for i := range 60 {
		c.Data["key-"+strings.Repeat("x", i)] = "value"
	}
}

func createAutoscaler(ctx context.Context, srv *miniapitest.Server) error {
	_, err := srv.Client().AutoscalingV2().HorizontalPodAutoscalers("default").Create(ctx, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "thing"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 2,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web", APIVersion: "apps/v1"}},
	}, metav1.CreateOptions{})
	return err
}

func createConfiguration(ctx context.Context, srv *miniapitest.Server) error {
	configurations := srv.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := configurations.Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "thing"}}, metav1.CreateOptions{})
	return err
}

// faulty returns a function that injects a fault until the end of a subtest.
func faulty(fault string) func(*testing.T, *miniapitest.Server) {
	return func(t *testing.T, srv *miniapitest.Server) {
		t.Helper()
		inject(t, srv, "faults: [{resources: [configmaps], "+fault+"}]")
		t.Cleanup(func() {
			ctx := context.WithoutCancel(t.Context())
			ok(t, srv.Client().Discovery().RESTClient().Delete().AbsPath(faults.Path).Do(ctx).Error())
		})
	}
}

func existing(t *testing.T, srv *miniapitest.Server) {
	t.Helper()
	ok(t, askedFor("default", unchangedConfigMap)(t.Context(), srv))
}

func updateAsked(ctx context.Context, srv *miniapitest.Server) error {
	_, err := srv.Client().CoreV1().ConfigMaps("default").Patch(ctx, "thing", types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
	return err
}

// updateAskedByNobody sends an update as a user without permissions.
func updateAskedByNobody(ctx context.Context, srv *miniapitest.Server) error {
	client, err := kubernetes.NewForConfig(srv.AddUser("nobody"))
	if err != nil {
		return err
	}
	_, err = client.CoreV1().ConfigMaps("default").Patch(ctx, "thing", types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
	return err
}

func deleteAsked(ctx context.Context, srv *miniapitest.Server) error {
	return srv.Client().CoreV1().ConfigMaps("default").Delete(ctx, "thing", metav1.DeleteOptions{})
}

func dryRunAsked(ctx context.Context, srv *miniapitest.Server) error {
	_, err := srv.Client().CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "thing"}}, metav1.CreateOptions{DryRun: dry})
	return err
}

// sideEffectsSome returns a function that sets sideEffects to Some and the failurePolicy in the configuration of the
// webhook that the question is about. Only v1beta1 allows sideEffects Some.
func sideEffectsSome(policy string) func(*testing.T, *miniapitest.Server) {
	return func(t *testing.T, srv *miniapitest.Server) {
		t.Helper()
		configurations := clusterResources(srv, "admissionregistration.k8s.io/v1beta1", "validatingwebhookconfigurations")
		change := []byte(`[{"op":"replace","path":"/webhooks/0/sideEffects","value":"Some"},{"op":"replace","path":"/webhooks/0/failurePolicy","value":"` + policy + `"}]`)
		must(configurations.Patch(t.Context(), "asked", types.JSONPatchType, change, metav1.PatchOptions{}))(t)
	}
}

func refusingPolicy(t *testing.T, srv *miniapitest.Server) {
	t.Helper()
	spec := map[string]any{"matchConstraints": matching(""), "validations": []any{map[string]any{"expression": "false", "message": "never"}}}
	policies, bindings := clusterResources(srv, configurationAPI, "validatingadmissionpolicies"), clusterResources(srv, configurationAPI, "validatingadmissionpolicybindings")
	must(policies.Create(t.Context(), object(configurationAPI, "ValidatingAdmissionPolicy", "never", map[string]any{"spec": spec}), metav1.CreateOptions{}))(t)
	must(bindings.Create(t.Context(), object(configurationAPI, "ValidatingAdmissionPolicyBinding", "never", map[string]any{
		"spec": map[string]any{"policyName": "never", "validationActions": []any{"Deny"}},
	}), metav1.CreateOptions{}))(t)
}

func configuredLater(t *testing.T, srv *miniapitest.Server) {
	t.Helper()
	existing(t, srv)
	install(t, srv, validating("asked", allow()))
}

// unreachable returns a hook with an address at which nothing listens.
func unreachable(h hook) hook {
	h.ClientConfig.URL = new("https://127.0.0.1:1/")
	return h
}

// For each row of the table in docs/trace.md, the server's answer to the question why it doesn't call a webhook has
// the reason and the field of the row.
func TestWhyAWebhookIsNotCalled(t *testing.T) {
	t.Parallel()
	documented := documentedQuestions(t, "| cause | reason |")
	for _, test := range questions() {
		if documented[test.name] != string(test.want) {
			t.Errorf("%s: docs/trace.md must have a row with the reason %s, and has %q", test.name, test.want, documented[test.name])
		}
		delete(documented, test.name)
	}
	for _, apart := range []string{"the plugin is off", "a hidden review"} { // these rows need servers of their own
		delete(documented, apart)
	}
	for name := range documented {
		t.Errorf("docs/trace.md has the row %q, which no test proves", name)
	}

	srv := miniapitest.Start(t, miniapitest.WithFlags(recording), miniapitest.Legacy())
	for _, test := range questions() {
		t.Run(test.name, func(t *testing.T) {
			t.Cleanup(func() { ok(t, srv.Reset()) })
			kind := trace.MutatingConfiguration
			if test.hook.validates || test.hook.Name == "" {
				kind = trace.ValidatingConfiguration
			}
			installed := test.others
			if test.hook.Name != "" {
				installed = append(installed, test.hook)
			}
			recorder := install(t, srv, installed...)
			if test.before != nil {
				test.before(t, srv)
			}
			if test.request == nil && test.want != trace.ConfiguredLater {
				test.request = askedFor("default", unchangedConfigMap)
			}
			if test.request != nil {
				_ = test.request(t.Context(), srv) // in some rows, the request fails
			}
			resource, namespace, object := orElse(test.resource, "configmaps"), orElse(test.namespace, "default"), orElse(test.object, "thing")

			got := why(t, srv, kind+"/asked/asked.example.com", resource, namespace, object)

			if got.Verdict.Reason != test.want || got.Verdict.Field != test.field || got.Called != test.called {
				t.Errorf("%s: want called %t by %s at %q, got %+v\n%s", test.reason, test.called, test.want, test.field, got, got.Sentence)
			}
			if again := got.Again; again != nil && again.Reason != test.again || again == nil && test.again != "" {
				t.Errorf("%s: want %q for the second round, got %+v", test.reason, test.again, again)
			}
			if test.field != "" && !strings.Contains(got.Sentence, test.field) {
				t.Errorf("the sentence doesn't name the field: %s", got.Sentence)
			}
			wasCalled := false
			for _, name := range called(recorder) {
				wasCalled = wasCalled || name == "asked"
			}
			if wasCalled != test.called && test.hook.handler != nil {
				t.Errorf("the webhook was called: %t, but the answer is %s", wasCalled, got.Sentence)
			}
		})
	}
}

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// documentedQuestions reads the table with the heading in docs/trace.md. It returns the reasons by the names of the
// rows.
func documentedQuestions(t *testing.T, heading string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/trace.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	_, table, _ := strings.Cut(string(text), heading)
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range strings.Split(table, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			rows[strings.TrimSpace(cells[1])] = strings.Trim(strings.TrimSpace(cells[2]), "`")
		}
	}
	delete(rows, "---")
	delete(rows, "")
	return rows
}

// The record of a create that authorization refused has no name. The answer about an object that doesn't exist is about
// the last such create in the object's namespace.
func TestWhyARefusedCreate(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	install(t, srv, validating("asked", allow()))
	nobody := must(kubernetes.NewForConfig(srv.AddUser("nobody")))(t)
	_, err := nobody.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "thing"}}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Fatalf("want the create to be forbidden, got %v", err)
	}
	_, err = nobody.CoreV1().ConfigMaps("default").Get(t.Context(), "thing", metav1.GetOptions{})
	if !apierrors.IsForbidden(err) {
		t.Fatalf("want the read to be forbidden, got %v", err)
	}
	requests := recorded(t, srv, "configmaps")
	if len(requests) != 1 || !requests[0].Forbidden || requests[0].Code != http.StatusForbidden || requests[0].User.Name != "nobody" {
		t.Fatalf("want a record of the create alone, got %+v", requests)
	}
	got := why(t, srv, trace.ValidatingConfiguration+"/asked/asked.example.com", "configmaps", "default", "thing")
	if want := "was not called for CREATE of configmaps in namespace default by nobody: authorization refuses the request before admission"; got.Verdict.Reason != trace.Forbidden || !strings.Contains(got.Sentence, want) {
		t.Errorf("want the reason %s and %q, got %+v", trace.Forbidden, want, got)
	}
	if other := why(t, srv, trace.ValidatingConfiguration+"/asked/asked.example.com", "configmaps", metav1.NamespaceSystem, "thing"); other.Verdict.Reason != trace.NotRecorded {
		t.Errorf("want no record for another namespace, got %+v", other)
	}
}

// The answer about a configuration or a webhook that doesn't exist lists the names that exist.
func TestWhyListsTheNamesThatExist(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	install(t, srv, validating("asked", allow()))
	ok(t, askedFor("default", unchangedConfigMap)(t.Context(), srv))
	for _, test := range []struct{ name, reason, webhook, want string }{
		{"configuration", "another configuration of the kind exists", trace.ValidatingConfiguration + "/askd", "(there is asked)"},
		{"webhook", "the configuration has another webhook", trace.ValidatingConfiguration + "/asked/askd",
			"(there is asked.example.com)"},
		{"kind", "no configuration of the kind exists", trace.MutatingConfiguration + "/asked", "there is no such webhook or policy."},
	} {
		if got := why(t, srv, test.webhook, "configmaps", "default", "thing"); got.Verdict.Reason != trace.NotConfigured || !strings.Contains(got.Sentence, test.want) {
			t.Errorf("%s: %s: want %q, got %s", test.name, test.reason, test.want, got.Sentence)
		}
	}
}

// If the plugin that calls a webhook is off, the answer to the question why the webhook isn't called names the plugin.
func TestWhyThePluginIsOff(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording), miniapitest.WithoutAdmissionPlugins(trace.ValidatingPlugin))
	install(t, srv, validating("asked", allow()))
	ok(t, askedFor("default", unchangedConfigMap)(t.Context(), srv))
	got := why(t, srv, trace.ValidatingConfiguration+"/asked/asked.example.com", "configmaps", "default", "thing")
	if got.Verdict.Reason != trace.PluginOff || !strings.Contains(got.Sentence, trace.ValidatingPlugin+" is off") {
		t.Errorf("want the plugin to be named, got %+v", got)
	}
}

// The server hides reviews such as TokenReview from webhooks. The answer to the question why a webhook isn't called has
// this reason.
func TestWhyAReviewIsHidden(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	install(t, srv, validating("asked", allow(), everything))
	must(srv.Client().AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}))(t)
	got := why(t, srv, trace.ValidatingConfiguration+"/asked/asked.example.com", "selfsubjectreviews", "", "")
	if got.Verdict.Reason != trace.ExcludedReview {
		t.Errorf("want the review to be hidden, got %+v", got)
	}
}
