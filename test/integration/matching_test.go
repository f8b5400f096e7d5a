package integration_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// dry makes a request a dry run, so that the test can repeat it.
var dry = []string{metav1.DryRunAll}

// matchable has requests for all operations, with and without a namespace, also for subresources. They need the objects
// of prepareMatchable.
var matchable = []struct {
	name, reason string
	do           func(context.Context, kubernetes.Interface) error
}{
	{"CREATE configmaps", "a create has only a new object", func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{DryRun: dry})
		return err
	}},
	{"UPDATE configmaps", "a patch is an update", func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().ConfigMaps("default").Patch(ctx, "thing", types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{DryRun: dry})
		return err
	}},
	{"DELETE configmaps", "a deletion has only an old object", func(ctx context.Context, c kubernetes.Interface) error {
		return c.CoreV1().ConfigMaps("default").Delete(ctx, "thing", metav1.DeleteOptions{DryRun: dry})
	}},
	// This request has a path only.
	{"CONNECT pods/attach", "the object has the options of the connection, and the pod needn't exist", nil},
	{"CREATE namespaces", "a namespace is cluster-scoped", func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{DryRun: dry})
		return err
	}},
	{"UPDATE namespaces/status", "the subresource of a cluster-scoped resource is cluster-scoped", func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Namespaces().Patch(ctx, "default", types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`), metav1.PatchOptions{DryRun: dry}, "status")
		return err
	}},
	{"CREATE apps deployments", "the resource isn't in the core group", func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.AppsV1().Deployments("default").Create(ctx, appsDeployment("new"), metav1.CreateOptions{DryRun: dry})
		return err
	}},
	{"UPDATE apps deployments/scale", "the object of a scale isn't a deployment", func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.AppsV1().Deployments("default").Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"replicas":2}}`), metav1.PatchOptions{DryRun: dry}, "scale")
		return err
	}},
	{"UPDATE apps deployments/status", "the object of a status is a deployment", func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.AppsV1().Deployments("default").Patch(ctx, "web", types.MergePatchType, []byte(`{"status":{"observedGeneration":1}}`), metav1.PatchOptions{DryRun: dry}, "status")
		return err
	}},
}

func prepareMatchable(t *testing.T, srv *miniapitest.Server) {
	t.Helper()
	prepare(t, srv.Client(), true)
	must(srv.Client().AppsV1().Deployments("default").Create(t.Context(), appsDeployment("web"), metav1.CreateOptions{}))(t)
}

// matched makes each request. It returns the names of the requests for which the webhooks of both kinds were called
// exactly once.
func matched(t *testing.T, srv *miniapitest.Server, matching change) []string {
	t.Helper()
	recorder := install(t, srv, mutating("mutate", allow(), matching), validating("validate", allow(), matching))
	var names []string
	for _, r := range matchable {
		recorder.Reset()
		if r.do == nil {
			request(t, srv.Config(), http.MethodPost, "/api/v1/namespaces/default/pods/missing/attach", nil)
		} else {
			ok(t, r.do(t.Context(), srv.Client()))
		}
		switch calls := called(recorder); {
		case slices.Equal(calls, []string{"mutate", "validate"}):
			names = append(names, r.name)
		case calls != nil:
			t.Errorf("%s: %s: calls: %v", r.name, r.reason, calls)
		}
	}
	return names
}

// A webhook is called once if at least one of its rules matches the operation, group, version, resource and scope.
func TestRules(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	prepareMatchable(t, srv)
	var all []string
	for _, r := range matchable {
		all = append(all, r.name)
	}
	scoped := func(scope admissionregistrationv1.ScopeType, r admissionregistrationv1.RuleWithOperations) admissionregistrationv1.RuleWithOperations {
		r.Scope = &scope
		return r
	}
	for _, tc := range []struct {
		name, reason string
		rules        []admissionregistrationv1.RuleWithOperations
		want         []string
	}{
		{"everything", "wildcards for group, version and resource match every request", rules(rule("*", "*/*", "*/*")), all},
		{"nothing", "a webhook without rules is never called", nil, nil},

		{"CREATE", "no other operation matches", rules(rule("CREATE", "*/*", "*/*")), []string{"CREATE configmaps", "CREATE namespaces", "CREATE apps deployments"}},
		{"DELETE", "no other operation matches", rules(rule("DELETE", "*/*", "*/*")), []string{"DELETE configmaps"}},
		{"CONNECT", "no other operation matches", rules(rule("CONNECT", "*/*", "*/*")), []string{"CONNECT pods/attach"}},
		{"two operations", "each of them matches", rules(rule("UPDATE DELETE", "v1", "configmaps")), []string{"UPDATE configmaps", "DELETE configmaps"}},

		{"core group", "the core group has an empty name, which is no wildcard", rules(rule("CREATE", "v1", "*")), []string{"CREATE configmaps", "CREATE namespaces"}},
		{"a group", "other groups don't match", rules(rule("*", "apps/*", "*/*")),
			[]string{"CREATE apps deployments", "UPDATE apps deployments/scale", "UPDATE apps deployments/status"}},
		{"another version", "the group apps has no version v2", rules(rule("*", "apps/v2", "*/*")), nil},
		{"any group of a version", "apps and core have a v1", rules(rule("CREATE", "*/v1", "deployments", "configmaps")), []string{"CREATE configmaps", "CREATE apps deployments"}},

		{"a resource", "a resource doesn't match its subresources", rules(rule("*", "apps/v1", "deployments")), []string{"CREATE apps deployments"}},
		{"a subresource", "a subresource matches neither its resource nor other subresources", rules(rule("*", "apps/v1", "deployments/scale")), []string{"UPDATE apps deployments/scale"}},
		{"*", "all resources, but no subresources", rules(rule("*", "apps/v1", "*")), []string{"CREATE apps deployments"}},
		{"deployments/*", "deployments/* matches all subresources and, as in kube-apiserver, the resource", rules(rule("*", "apps/v1", "deployments/*")),
			[]string{"CREATE apps deployments", "UPDATE apps deployments/scale", "UPDATE apps deployments/status"}},
		{"*/status", "*/status matches the subresource status of all resources", rules(rule("UPDATE", "*/*", "*/status")), []string{"UPDATE namespaces/status", "UPDATE apps deployments/status"}},
		{"*/scale", "*/scale matches the subresource scale of all resources", rules(rule("*", "*/*", "*/scale")), []string{"UPDATE apps deployments/scale"}},

		{"Cluster", "namespaces and their subresources are cluster-scoped", rules(scoped("Cluster", rule("*", "*/*", "*/*"))), []string{"CREATE namespaces", "UPDATE namespaces/status"}},
		{"Namespaced", "subresources have the scope of their resource", rules(scoped("Namespaced", rule("CONNECT UPDATE", "*/*", "*/*"))),
			[]string{"UPDATE configmaps", "CONNECT pods/attach", "UPDATE apps deployments/scale", "UPDATE apps deployments/status"}},
		{"scope *", "both scopes match", rules(scoped("*", rule("CREATE", "v1", "*"))), []string{"CREATE configmaps", "CREATE namespaces"}},

		{"two rules", "one matching rule is enough, and two matching rules cause only one call", rules(rule("CREATE", "v1", "configmaps"), rule("*", "*/*", "configmaps")),
			[]string{"CREATE configmaps", "UPDATE configmaps", "DELETE configmaps"}},
		{"rules don't mix", "a request that matches parts of two rules matches no rule", rules(rule("CREATE", "apps/v1", "*"), rule("DELETE", "v1", "configmaps")),
			[]string{"DELETE configmaps", "CREATE apps deployments"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := matched(t, srv, func(h *hook) { h.Rules = tc.rules })
			if diff := cmp.Diff(slices.Sorted(slices.Values(tc.want)), slices.Sorted(slices.Values(got))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func rules(rules ...admissionregistrationv1.RuleWithOperations) []admissionregistrationv1.RuleWithOperations {
	return rules
}

// A namespaceSelector is compared with the labels of the object's namespace. If the object is a namespace, it is
// compared with the object's own labels. It doesn't apply to other cluster-scoped objects, whose webhooks are always
// called.
func TestNamespaceSelector(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	core := srv.Client().CoreV1()
	namespace := func(name string, labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	for name, labels := range map[string]map[string]string{
		"prod": {"environment": "prod"}, "staging": {"environment": "staging"}, "system": {"runlevel": "0"}, "plain": nil,
	} {
		must(core.Namespaces().Create(t.Context(), namespace(name, labels), metav1.CreateOptions{}))(t)
	}
	in := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := core.ConfigMaps(name).Create(ctx, thing(), metav1.CreateOptions{DryRun: dry})
			return err
		}
	}
	label := func(name, label string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := core.Namespaces().Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{`+label+`}}}`), metav1.PatchOptions{DryRun: dry})
			return err
		}
	}
	requests := []struct {
		name, reason string
		do           func(context.Context) error
	}{
		{"in prod", "the namespace has the label environment", in("prod")},
		{"in staging", "the namespace has another value of the label environment", in("staging")},
		{"in system", "the namespace has only the label runlevel", in("system")},
		{"in plain", "the namespace has only the label with its name", in("plain")},
		{"create namespace prod", "the selector is compared with the namespace's own labels", func(ctx context.Context) error {
			_, err := core.Namespaces().Create(ctx, namespace("new", map[string]string{"environment": "prod"}), metav1.CreateOptions{DryRun: dry})
			return err
		}},
		{"create namespace plain", "the namespace has no labels of its own", func(ctx context.Context) error {
			_, err := core.Namespaces().Create(ctx, namespace("new", nil), metav1.CreateOptions{DryRun: dry})
			return err
		}},
		{"make namespace plain prod", "the new labels of the namespace count", label("plain", `"environment":"prod"`)},
		{"make namespace prod plain", "the removed labels of the namespace don't count", label("prod", `"environment":null`)},
		{"delete namespace prod", "the existing labels of the namespace count", func(ctx context.Context) error {
			return core.Namespaces().Delete(ctx, "prod", metav1.DeleteOptions{DryRun: dry})
		}},
		{"delete namespace plain", "the namespace has no labels of its own", func(ctx context.Context) error {
			return core.Namespaces().Delete(ctx, "plain", metav1.DeleteOptions{DryRun: dry})
		}},
		{"create node", "a node has no namespace, so the selector doesn't apply", func(ctx context.Context) error {
			_, err := core.Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{DryRun: dry})
			return err
		}},
	}
	for _, tc := range []struct {
		name, reason string
		selector     *metav1.LabelSelector
		want         []string
	}{
		{
			"environment in prod and staging", "only namespaces with one of the values match",
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "environment", Operator: "In", Values: []string{"prod", "staging"}}}},
			[]string{"in prod", "in staging", "create namespace prod", "make namespace plain prod", "delete namespace prod", "create node"},
		},
		{
			"runlevel not in 0 and 1", "NotIn also matches namespaces without the label",
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "runlevel", Operator: "NotIn", Values: []string{"0", "1"}}}},
			[]string{"in prod", "in staging", "in plain", "create namespace prod", "create namespace plain", "make namespace plain prod",
				"make namespace prod plain", "delete namespace prod", "delete namespace plain", "create node"},
		},
		{
			"name of the namespace", "every namespace has a label with its name",
			&metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "plain"}},
			[]string{"in plain", "make namespace plain prod", "delete namespace plain", "create node"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			recorder := install(t, srv, validating("hook", allow(), on("*", "v1", "configmaps", "namespaces", "nodes"),
				func(h *hook) { h.NamespaceSelector = tc.selector }))
			var got []string
			for _, r := range requests {
				recorder.Reset()
				if err := r.do(t.Context()); err != nil {
					t.Errorf("%s: %s: %v", r.name, r.reason, err)
				}
				for range recorder.Reviews() {
					got = append(got, r.name)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	t.Run("labels that change", func(t *testing.T) {
		recorder := install(t, srv, validating("hook", allow(), func(h *hook) {
			h.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"watched": "yes"}}
		}))
		for _, step := range []struct {
			name, reason, patch string
			want                int
		}{
			{"as it is", "the namespace lacks the label", `{}`, 0},
			{"labelled", "the new label counts for the next request", `{"metadata":{"labels":{"watched":"yes"}}}`, 1},
			{"not labelled any more", "the removal of the label counts for the next request", `{"metadata":{"labels":{"watched":null}}}`, 1},
		} {
			must(core.Namespaces().Patch(t.Context(), "plain", types.MergePatchType, []byte(step.patch), metav1.PatchOptions{}))(t)
			ok(t, in("plain")(t.Context()))
			if got := len(recorder.Reviews()); got != step.want {
				t.Errorf("%s: %s: want %d reviews in all, got %d", step.name, step.reason, step.want, got)
			}
		}
	})
}
