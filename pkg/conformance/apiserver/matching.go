package apiserver

import (
	"net/http"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// matchable has requests that a webhook's rules may match. The cases make all of these requests for each set of rules
// in matched. The requests need the objects named "there". All except the connection are dry runs.
var matchable = []struct {
	name string
	send func(*trial.T)
}{
	{"create configmaps", func(t *trial.T) { t.Create(trial.ConfigMaps, t.ConfigMap("a"), dry).OK() }},
	{"update configmaps", func(t *trial.T) {
		t.Patch(trial.ConfigMaps, "there", trial.MergePatch, trial.Object{"data": trial.Object{"a": "b"}}, dry).OK()
	}},
	{"delete configmaps", func(t *trial.T) { t.Delete(trial.ConfigMaps, "there", nil, dry).OK() }},
	{"create deployments", func(t *trial.T) { t.Create(trial.Deployments, deployment(t, "web"), dry).OK() }},
	{"update deployments", func(t *trial.T) {
		t.Patch(trial.Deployments, "there", trial.MergePatch, trial.Object{"metadata": trial.Object{"annotations": trial.Object{"a": "b"}}}, dry).OK()
	}},
	{"delete deployments", func(t *trial.T) { t.Delete(trial.Deployments, "there", nil, dry).OK() }},
	{"update status", func(t *trial.T) {
		t.Patch(trial.Deployments.Sub("status"), "there", trial.MergePatch, trial.Object{"status": trial.Object{"observedGeneration": 1}}, dry).OK()
	}},
	{"update scale", func(t *trial.T) {
		t.Patch(trial.Deployments.Sub("scale"), "there", trial.MergePatch, trial.Object{"spec": trial.Object{"replicas": 0}}, dry).OK()
	}},
	// A connection has no dry run. The pod doesn't exist, so the request fails after its review.
	{"connect attach", func(t *trial.T) {
		t.Do(trial.Request{Verb: http.MethodPost, Path: t.Path(trial.Pods.Sub("attach"), "missing")})
	}},
	{"create clusterroles", func(t *trial.T) {
		t.Create(trial.ClusterRoles, t.Object(trial.ClusterRoles, t.Name("role")), dry).OK()
	}},
	{"create namespaces", func(t *trial.T) { t.Create(trial.Namespaces, t.Object(trial.Namespaces, t.Name("ns")), dry).OK() }},
	{"update finalize", func(t *trial.T) {
		t.Update(trial.Namespaces.Sub("finalize"), t.Get(trial.Namespaces, t.Namespace()).OK(), dry).OK()
	}},
}

const dry = "dryRun=All"

// deployments names the requests in matchable for Deployments, without the requests for subresources.
var deployments = []string{"create deployments", "delete deployments", "update deployments"}

// matched has sets of rules for a webhook. The field matches names the requests in matchable that the rules must match.
// The rules must match no other request.
var matched = []struct {
	name, promise string
	rules         []admissionregistrationv1.RuleWithOperations
	matches       []string
}{
	{"operation.create", "A rule for CREATE matches a create, and no other request.", ruling("CREATE", "*", "*", "*/*"),
		[]string{"create configmaps", "create deployments"}},
	{"operation.update", "A rule for UPDATE matches an update and a patch, and no other request.",
		ruling("UPDATE", "*", "*", "*/*"),
		[]string{"update configmaps", "update deployments", "update scale", "update status"}},
	{"operation.delete", "A rule for DELETE matches a delete, and no other request.", ruling("DELETE", "*", "*", "*/*"),
		[]string{"delete configmaps", "delete deployments"}},
	{"operation.connect", "A rule for CONNECT matches a connection, and no other request.",
		ruling("CONNECT", "*", "*", "*/*"), []string{"connect attach"}},
	{"operation.several", "A rule lists one or more operations: each of them matches.",
		ruling("UPDATE DELETE", "", "v1", "configmaps"), []string{"delete configmaps", "update configmaps"}},
	{"operation.all", "The operation * matches all operations.", ruling("*", "apps", "v1", "deployments"), deployments},
	{"group.other", "A rule for a group doesn't match another group.", ruling("*", "batch", "v1", "deployments"), nil},
	{"group.named", "A rule for a group matches the resources of the group.", ruling("*", "apps", "*", "*/*"),
		append([]string{"update scale", "update status"}, deployments...)},
	{"group.core", `"" is the core API group: it doesn't match another group.`, ruling("CREATE", "", "v1", "*"),
		[]string{"create configmaps"}},
	{"group.all", "The group * matches all API groups.", ruling("CREATE", "*", "v1", "deployments", "configmaps"),
		[]string{"create configmaps", "create deployments"}},
	{"version.other", "A rule for a version that isn't served matches no request.", ruling("*", "apps", "v9", "*/*"), nil},
	{"version.all", "The version * matches all API versions.", ruling("*", "apps", "*", "deployments"), deployments},
	{"resource.other", "A rule for a resource doesn't match another resource.", ruling("*", "", "v1", "secrets"), nil},
	{"resource.all", "The resource * matches all resources.", ruling("*", "", "v1", "*"),
		[]string{"create configmaps", "delete configmaps", "update configmaps"}},
	{"resource.notSubresource", "A resource doesn't match its subresources.", ruling("*", "apps", "v1", "deployments"), deployments},
	{"resource.allNotSubresource", "The resource * doesn't match subresources.", ruling("*", "apps", "v1", "*"), deployments},
	{"subresource.named", "deployments/status matches the status of a Deployment, and nothing else.",
		ruling("*", "apps", "v1", "deployments/status"), []string{"update status"}},
	{"subresource.other", "deployments/scale matches the scale of a Deployment, and not its status.",
		ruling("*", "apps", "v1", "deployments/scale"), []string{"update scale"}},
	{"subresource.ofResource", "deployments/* matches all subresources of Deployments, and Deployments.",
		ruling("*", "apps", "v1", "deployments/*"), append([]string{"update scale", "update status"}, deployments...)},
	{"subresource.ofAll", "*/status matches all status subresources.", ruling("*", "*", "*", "*/status"), []string{"update status"}},
	{"subresource.ofAllNotOther", "*/scale matches no other subresource.", ruling("*", "*", "*", "*/scale"), []string{"update scale"}},
	{"everything.resource", "*/* matches all resources.", ruling("CREATE DELETE", "*", "*", "*/*"),
		[]string{"create configmaps", "create deployments", "delete configmaps", "delete deployments"}},
	{"everything.subresource", "*/* matches all subresources.", ruling("CONNECT UPDATE", "*", "*", "*/*"),
		[]string{"connect attach", "update configmaps", "update deployments", "update scale", "update status"}},
	{"scope.cluster", "Cluster means that only cluster-scoped resources will match.", scoped("Cluster", "CREATE", "*"),
		[]string{"create clusterroles", "create namespaces"}},
	{"scope.namespaced", "Namespaced means that only namespaced resources will match.",
		scoped("Namespaced", "CREATE UPDATE", "*"),
		[]string{"create configmaps", "create deployments", "update configmaps", "update deployments"}},
	{"scope.all", "* means that there are no scope restrictions.", scoped("*", "CREATE", "*"),
		[]string{"create clusterroles", "create configmaps", "create deployments", "create namespaces"}},
	{"scope.namespace", "Namespace API objects are cluster-scoped.", scoped("Cluster", "CREATE", "namespaces"),
		[]string{"create namespaces"}},
	{"scope.subresource", "Subresources match the scope of their parent resource.", scoped("Cluster", "UPDATE", "*/*"),
		[]string{"update finalize"}},
	{"notMixed", "A request must match one rule as a whole: the group of one rule and the operation of another aren't enough.",
		append(ruling("CREATE", "apps", "v1", "*"), ruling("DELETE", "", "v1", "configmaps")...),
		[]string{"create deployments", "delete configmaps"}},
	{"empty", "A webhook without rules is never called.", nil, nil},
}

func ruling(operations, group, version string, resources ...string) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{trial.Rule(operations, group, version, resources...)}
}

func scoped(scope admissionregistrationv1.ScopeType, operations, resource string) []admissionregistrationv1.RuleWithOperations {
	rules := ruling(operations, "*", "*", resource)
	rules[0].Scope = &scope
	return rules
}

// matching has the cases about the rules of webhooks.
var matching = append(ruleTests(), trial.Test{
	ID: "match.rule.any", Source: dynamic + "Matching requests: rules",
	Promise: "If an incoming request matches any of a webhook's rules, the request is sent to the webhook, once.",
	Run: func(t *trial.T) {
		t.Install(trial.Validating("hook", trial.Allow(), trial.Rules(
			trial.Rule("DELETE", "", "v1", "secrets"), trial.Rule("CREATE", "", "v1", "configmaps"), trial.Rule("*", "*", "*", "*"))))
		t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
		t.Called("hook")
	},
}, trial.Test{
	ID: "match.rule.none", Source: dynamic + "Matching requests: rules",
	Promise: "A read is never sent to a webhook.",
	Run: func(t *trial.T) {
		t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
		t.Install(pairOf(trial.Deny(403, "no"), trial.Rules(trial.Rule("*", "*", "*", "*/*")))...)
		t.Get(trial.ConfigMaps, "a").OK()
		t.List(trial.ConfigMaps).OK()
		t.Called()
	},
})

func ruleTests() []trial.Test {
	var tests []trial.Test
	for _, m := range matched {
		tests = append(tests, trial.Test{
			ID: "match.rule." + m.name, Promise: m.promise, Source: dynamic + "Matching requests: rules",
			Run: func(t *trial.T) {
				t.Create(trial.ConfigMaps, t.ConfigMap("there")).OK()
				t.Create(trial.Deployments, deployment(t, "there")).OK()
				rules := slices.Clone(m.rules) // the hooks change their rules
				changes := []trial.Change{trial.Rules(rules...)}
				if len(rules) > 0 && rules[0].Scope != nil && *rules[0].Scope != admissionregistrationv1.NamespacedScope {
					changes = append(changes, t.Own)
				}
				t.Install(pairOf(trial.Allow(), changes...)...)
				for _, request := range matchable {
					request.send(t)
					called := []string{}
					if slices.Contains(m.matches, request.name) {
						called = []string{"mutating", "validating"}
					}
					t.Called(called...)
				}
			},
		})
	}
	return tests
}

// labelled returns a ConfigMap with the label opt=in.
func labelled(t *trial.T, name string) trial.Object { return t.ConfigMap(name).WithLabel("opt", "in") }

// selectors has the cases about objectSelector and namespaceSelector.
var selectors = []trial.Test{
	{
		ID: "match.objectSelector.sent", Source: kep492 + "Object selector",
		Promise: "The labels are those of the object that would be sent, with the changes of the webhooks before.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", trial.Patch(trial.Add("/metadata/labels/opt", "in"))), trial.Mutating("b", trial.Allow(), trial.Objects("opt", "in")),
				trial.Validating("c", trial.Allow(), trial.Objects("opt", "in")))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Called("a", "b", "c")
		},
	},
	{
		ID: "match.namespaceSelector.namespace", Source: dynamic + "Matching requests: namespaceSelector",
		Promise: "If the object itself is a namespace, the matching is performed on object.metadata.labels; for a DELETE, on those of the existing namespace.",
		Run: func(t *trial.T) {
			in, out := t.Name("in"), t.Name("out")
			t.NewNamespace(in, map[string]string{"environment": "prod"})
			t.NewNamespace(out, nil)
			t.Install(trial.Validating("in", trial.Allow(), trial.On("*", trial.Namespaces), t.Own, environment(metav1.LabelSelectorOpIn, "prod")),
				trial.Validating("not-in", trial.Allow(), trial.On("*", trial.Namespaces), t.Own, environment(metav1.LabelSelectorOpNotIn, "prod")))
			create := func(label string) *trial.Answer {
				return t.Create(trial.Namespaces, t.Object(trial.Namespaces, t.Name("new")).WithLabel(label, "prod"), dry)
			}
			label := func(name string, value any) *trial.Answer {
				return t.Patch(trial.Namespaces, name, trial.MergePatch, trial.Object{"metadata": trial.Object{"labels": trial.Object{"environment": value}}}, dry)
			}
			for _, request := range []struct {
				send   func() *trial.Answer
				called string
			}{
				{func() *trial.Answer { return create("environment") }, "in"},
				{func() *trial.Answer { return create("other") }, "not-in"},
				{func() *trial.Answer { return label(out, "prod") }, "in"},
				{func() *trial.Answer { return label(in, nil) }, "not-in"},
				{func() *trial.Answer { return t.Delete(trial.Namespaces, in, nil, dry) }, "in"},
				{func() *trial.Answer { return t.Delete(trial.Namespaces, out, nil, dry) }, "not-in"},
			} {
				request.send().OK()
				t.Called(request.called)
			}
		},
	},
	{
		ID: "match.bothSelectors", Source: kep492 + "Object selector",
		Promise: "Namespaced objects must match both the object selector and the namespace selector to be sent to the webhook.",
		Run: func(t *trial.T) {
			t.NewNamespace(t.Name("in"), map[string]string{"environment": "prod"})
			t.NewNamespace(t.Name("out"), nil)
			in, out := trial.ConfigMaps.In(t.Name("in")), trial.ConfigMaps.In(t.Name("out"))
			t.Install(trial.Validating("hook", trial.Allow(), trial.Objects("opt", "in"), environment(metav1.LabelSelectorOpIn, "prod")))
			t.Create(in, t.ConfigMap("a")).OK()
			t.Create(out, labelled(t, "a")).OK()
			t.Called()
			t.Create(in, labelled(t, "b")).OK()
			t.Called("hook")
		},
	},
}

// environment returns a change that adds a requirement for the label "environment" to the namespace selector.
func environment(operator metav1.LabelSelectorOperator, values ...string) trial.Change {
	return trial.NamespacesWith(metav1.LabelSelectorRequirement{Key: "environment", Operator: operator, Values: values})
}

// conditions has the cases about matchConditions.
var conditions = conditionTests()

const matchConditions = "Match conditions"

func conditionTests() []trial.Test {
	needs := []trial.Need{trial.Since(30)}
	tests := []trial.Test{
		{
			ID: "match.conditions.all", Promise: "A request is sent to the webhook if all match conditions evaluate to true.",
			Run: func(t *trial.T) {
				t.Install(pairOf(trial.Allow(), trial.When("one", "object.metadata.name == 'a'"), trial.When("two", "request.operation == 'CREATE'"))...)
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
				t.Called("mutating", "validating")
			},
		},
		{
			ID: "match.conditions.anyFalse", Promise: "A request isn't sent to the webhook if a match condition evaluates to false.",
			Run: func(t *trial.T) {
				t.Install(pairOf(trial.Deny(403, "no"), trial.When("one", "true"), trial.When("two", "object.metadata.name != 'a'"))...)
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
				t.Called()
			},
		},
		{
			ID:      "match.conditions.falseBeatsError",
			Promise: "If any match condition evaluates to false, the webhook is skipped even if another one fails to evaluate.",
			Run: func(t *trial.T) {
				t.Install(pairOf(trial.Deny(403, "no"), trial.When("error", "object.data.missing == 'x'"), trial.When("false", "false"))...)
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
				t.Called()
			},
		},
	}
	for _, v := range []struct{ name, promise, operation, expression string }{
		{"object", "object is the incoming object.", "CREATE", "object.data.key == 'new'"},
		{"objectOfDelete", "object is null for a DELETE.", "DELETE", "object == null"},
		{"oldObject", "oldObject is the existing object.", "UPDATE", "oldObject.data.key == 'new' && object.data.key == 'newer'"},
		{"oldObjectOfCreate", "oldObject is null for a CREATE.", "CREATE", "oldObject == null"},
		{"request", "request is the request part of the AdmissionReview.", "CREATE",
			"request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap' && request.name == 'a' && !request.dryRun"},
		{"options", "request.options has the options of the operation.", "DELETE", "request.options.kind == 'DeleteOptions'"},
		{"userInfo", "request.userInfo is the authenticated user.", "CREATE",
			"request.userInfo.groups.exists(g, g == 'system:authenticated')"},
		{"authorizer", "authorizer performs checks for the user of the request.", "CREATE",
			"authorizer.group('').resource('configmaps').namespace(request.namespace).check('create').allowed()"},
		{"authorizerDenies", "authorizer tells what the user of the request may not do.", "CREATE",
			"!authorizer.group('').resource('nodes').check('conformance-no-such-verb').allowed() || authorizer.group('*').resource('*').check('*').allowed()"},
		{"library", "The functions of Kubernetes are there, beside those of CEL.", "CREATE",
			"object.metadata.name.matches('^a') && quantity('1Ki').isGreaterThan(quantity('1k')) && url('https://a/b').getHost() == 'a'"},
		{"authorizerResource", "authorizer.requestResource is the check of the requested resource.", "CREATE",
			"authorizer.requestResource.check('create').allowed()"},
	} {
		tests = append(tests, trial.Test{
			ID: "match.conditions.variable." + v.name, Promise: v.promise,
			Run: func(t *trial.T) {
				for name, expression := range map[string]string{"true": v.expression, "false": "!(" + v.expression + ")"} {
					on, when := trial.On(v.operation, trial.ConfigMaps), trial.When("condition", expression)
					t.Install(trial.Mutating("mutating-"+name, trial.Allow(), on, when), trial.Validating("validating-"+name, trial.Allow(), on, when))
				}
				o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "new")).OK()
				t.Update(trial.ConfigMaps, o.With("data.key", "newer")).OK()
				t.Delete(trial.ConfigMaps, "a", nil).OK()
				t.Called("mutating-true", "validating-true")
			},
		})
	}
	for i := range tests {
		tests[i].Needs, tests[i].Source = needs, dynamic+matchConditions
	}
	return tests
}
