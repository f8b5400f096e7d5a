package apiserver

import (
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// The requests of the cases in matched.
var (
	createConfigMap = func(t *trial.T) { t.Create(trial.ConfigMaps, t.ConfigMap("a"), "dryRun=All").OK() }
	createRole      = func(t *trial.T) {
		t.Create(trial.ClusterRoles, t.Object(trial.ClusterRoles, t.Name("role")), "dryRun=All").OK()
	}
	createDeployment = func(t *trial.T) { t.Create(trial.Deployments, deployment(t, "web"), "dryRun=All").OK() }
	patchStatus      = func(t *trial.T) {
		t.Patch(trial.Deployments.Sub("status"), "there", trial.MergePatch, trial.Object{"status": trial.Object{"observedGeneration": 1}}, "dryRun=All").OK()
	}
	patchScale = func(t *trial.T) {
		t.Patch(trial.Deployments.Sub("scale"), "there", trial.MergePatch, trial.Object{"spec": trial.Object{"replicas": 0}}, "dryRun=All").OK()
	}
	updateDeployment = func(t *trial.T) {
		t.Patch(trial.Deployments, "there", trial.MergePatch, trial.Object{"metadata": trial.Object{"annotations": trial.Object{"a": "b"}}}, "dryRun=All").OK()
	}
	deleteDeployment = func(t *trial.T) { t.Delete(trial.Deployments, "there", nil, "dryRun=All").OK() }
)

// matched has a rule and a request for each case, and says whether the rule must match the request.
var matched = []struct {
	name, promise string
	rule          admissionregistrationv1.RuleWithOperations
	request       func(*trial.T)
	called        bool
}{
	{"operation.create", "A rule for CREATE matches a create.", trial.Rule("CREATE", "apps", "v1", "deployments"), createDeployment, true},
	{"operation.update", "A rule for CREATE doesn't match an update.", trial.Rule("CREATE", "apps", "v1", "deployments"), updateDeployment, false},
	{"operation.delete", "A rule for CREATE and UPDATE doesn't match a delete.", trial.Rule("CREATE UPDATE", "apps", "v1", "deployments"), deleteDeployment, false},
	{"operation.several", "A rule lists one or more operations: each of them matches.", trial.Rule("CREATE DELETE", "apps", "v1", "deployments"), deleteDeployment, true},
	{"operation.all", "The operation * matches all operations.", trial.Rule("*", "apps", "v1", "deployments"), deleteDeployment, true},
	{"group.other", "A rule for a group doesn't match another group.", trial.Rule("*", "batch", "v1", "deployments"), createDeployment, false},
	{"group.core", `"" is the core API group: it doesn't match another group.`, trial.Rule("*", "", "v1", "deployments"), createDeployment, false},
	{"group.all", "The group * matches all API groups.", trial.Rule("*", "*", "v1", "deployments"), createDeployment, true},
	{"version.other", "A rule for a version that isn't served matches no request.", trial.Rule("*", "apps", "v9", "deployments"), createDeployment, false},
	{"version.all", "The version * matches all API versions.", trial.Rule("*", "apps", "*", "deployments"), createDeployment, true},
	{"resource.other", "A rule for a resource doesn't match another resource.", trial.Rule("*", "", "v1", "secrets"), createConfigMap, false},
	{"resource.all", "The resource * matches all resources.", trial.Rule("*", "", "v1", "*"), createConfigMap, true},
	{"resource.notSubresource", "A resource doesn't match its subresources.", trial.Rule("*", "apps", "v1", "deployments"), patchStatus, false},
	{"resource.allNotSubresource", "The resource * doesn't match subresources.", trial.Rule("*", "apps", "v1", "*"), patchScale, false},
	{"subresource.named", "deployments/status matches the status of a Deployment.", trial.Rule("*", "apps", "v1", "deployments/status"), patchStatus, true},
	{"subresource.other", "deployments/status doesn't match the scale of a Deployment.", trial.Rule("*", "apps", "v1", "deployments/status"), patchScale, false},
	{"subresource.ofResource", "deployments/* matches all subresources of Deployments.", trial.Rule("*", "apps", "v1", "deployments/*"), patchScale, true},
	{"subresource.ofAll", "*/status matches all status subresources.", trial.Rule("*", "apps", "v1", "*/status"), patchStatus, true},
	{"subresource.ofAllNotOther", "*/status matches no other subresource.", trial.Rule("*", "apps", "v1", "*/status"), patchScale, false},
	{"everything.resource", "*/* matches all resources.", trial.Rule("*", "*", "*", "*/*"), createConfigMap, true},
	{"everything.subresource", "*/* matches all subresources.", trial.Rule("*", "*", "*", "*/*"), patchScale, true},
	{"scope.cluster", "Cluster means that only cluster-scoped resources will match.", scoped("Cluster"), createConfigMap, false},
	{"scope.clusterMatches", "Cluster matches cluster-scoped resources.", scoped("Cluster"), createRole, true},
	{"scope.namespaced", "Namespaced means that only namespaced resources will match.", scoped("Namespaced"), createRole, false},
	{"scope.namespacedMatches", "Namespaced matches namespaced resources.", scoped("Namespaced"), createConfigMap, true},
	{"scope.all", "* means that there are no scope restrictions: a cluster-scoped resource matches.", scoped("*"), createRole, true},
	{"scope.allNamespaced", "* means that there are no scope restrictions: a namespaced resource matches.", scoped("*"), createConfigMap, true},
	{"scope.namespace", "Namespace API objects are cluster-scoped.", scoped("Namespaced"), func(t *trial.T) {
		t.Create(trial.Namespaces, t.Object(trial.Namespaces, t.Name("ns")), "dryRun=All").OK()
	}, false},
	{"scope.subresource", "Subresources match the scope of their parent resource.", func() admissionregistrationv1.RuleWithOperations {
		r := scoped("Cluster")
		r.Resources = []string{"*/*"}
		return r
	}(), patchStatus, false},
}

func scoped(scope admissionregistrationv1.ScopeType) admissionregistrationv1.RuleWithOperations {
	r := trial.Rule("CREATE UPDATE", "*", "*", "*")
	r.Scope = &scope
	return r
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
				t.Create(trial.Deployments, deployment(t, "there")).OK()
				rule := m.rule
				var own []trial.Change
				if rule.Scope != nil && *rule.Scope != admissionregistrationv1.NamespacedScope {
					own = append(own, t.Own)
				}
				t.Install(pairOf(trial.Allow(), append(own, trial.Rules(rule))...)...)
				m.request(t)
				if m.called {
					t.Called("mutating", "validating")
				} else {
					t.Called()
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
		ID: "match.objectSelector.create", Source: dynamic + "Matching requests: objectSelector",
		Promise: "A CREATE matches if the new object's labels match.",
		Run: func(t *trial.T) {
			t.Install(pairOf(trial.Allow(), trial.Objects("opt", "in"))...)
			t.Create(trial.ConfigMaps, labelled(t, "a")).OK()
			t.Called("mutating", "validating")
		},
	},
	{
		ID: "match.objectSelector.createOther", Source: dynamic + "Matching requests: objectSelector",
		Promise: "A CREATE doesn't match if the new object's labels don't match: the null oldObject is not considered to match.",
		Run: func(t *trial.T) {
			t.Install(pairOf(trial.Allow(), trial.Objects("opt", "in"))...)
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Called()
		},
	},
	{
		ID: "match.objectSelector.updateNew", Source: dynamic + "Matching requests: objectSelector",
		Promise: "The objectSelector is considered to match if either object matches: an UPDATE that adds the label matches.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Install(pairOf(trial.Allow(), trial.Objects("opt", "in"))...)
			t.Update(trial.ConfigMaps, labelled(t, "a")).OK()
			t.Called("mutating", "validating")
		},
	},
	{
		ID: "match.objectSelector.updateOld", Source: dynamic + "Matching requests: objectSelector",
		Promise: "The objectSelector is considered to match if either object matches: an UPDATE that removes the label matches.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, labelled(t, "a")).OK()
			t.Install(pairOf(trial.Allow(), trial.Objects("opt", "in"))...)
			t.Update(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Called("mutating", "validating")
		},
	},
	{
		ID: "match.objectSelector.updateNeither", Source: dynamic + "Matching requests: objectSelector",
		Promise: "An UPDATE doesn't match if neither object matches.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Install(pairOf(trial.Allow(), trial.Objects("opt", "in"))...)
			t.Update(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Called()
		},
	},
	{
		ID: "match.objectSelector.delete", Source: dynamic + "Matching requests: objectSelector",
		Promise: "A DELETE matches by the labels of the existing object.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, labelled(t, "a")).OK()
			t.Create(trial.ConfigMaps, t.ConfigMap("b")).OK()
			t.Install(trial.Validating("hook", trial.Allow(), trial.Objects("opt", "in")))
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			t.Called("hook")
			t.Delete(trial.ConfigMaps, "b", nil).OK()
			t.Called()
		},
	},
	{
		ID: "match.objectSelector.connect", Source: dynamic + "Matching requests: objectSelector", Needs: []trial.Need{trial.Serves(trial.Pods.Sub("exec"))},
		Promise: "An object that cannot have labels, like a PodExecOptions object, is not considered to match.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("labelled", trial.Allow(), trial.On("CONNECT", trial.Pods.Sub("exec")), trial.Objects("opt", "in")),
				trial.Validating("unlabelled", trial.Deny(http.StatusTeapot, "no"), trial.On("CONNECT", trial.Pods.Sub("exec"))))
			t.Do(trial.Request{Verb: http.MethodPost, Path: t.Path(trial.Pods.Sub("exec"), "none"), Query: []string{"command=ls"}}).Refused(http.StatusTeapot)
			t.Called("unlabelled")
		},
	},
	{
		ID: "match.namespaceSelector.matches", Source: dynamic + "Matching requests: namespaceSelector",
		Promise: "The namespaceSelector decides whether to run the webhook based on whether the labels of the containing namespace match.",
		Run: func(t *trial.T) {
			t.NewNamespace(t.Name("in"), map[string]string{"environment": "prod"})
			t.NewNamespace(t.Name("out"), map[string]string{"environment": "test"})
			t.Install(pairOf(trial.Allow(), environment(metav1.LabelSelectorOpIn, "prod", "staging"))...)
			t.Create(trial.ConfigMaps.In(t.Name("in")), t.ConfigMap("a")).OK()
			t.Called("mutating", "validating")
			t.Create(trial.ConfigMaps.In(t.Name("out")), t.ConfigMap("a")).OK()
			t.Called()
		},
	},
	{
		ID: "match.namespaceSelector.notIn", Source: dynamic + "Matching requests: namespaceSelector",
		Promise: "NotIn matches namespaces that don't have the label, or have it with another value.",
		Run: func(t *trial.T) {
			t.NewNamespace(t.Name("without"), nil)
			t.NewNamespace(t.Name("out"), map[string]string{"environment": "prod"})
			t.Install(pairOf(trial.Allow(), environment(metav1.LabelSelectorOpNotIn, "prod"))...)
			t.Create(trial.ConfigMaps.In(t.Name("without")), t.ConfigMap("a")).OK()
			t.Called("mutating", "validating")
			t.Create(trial.ConfigMaps.In(t.Name("out")), t.ConfigMap("a")).OK()
			t.Called()
		},
	},
	{
		ID: "match.namespaceSelector.namespace", Source: dynamic + "Matching requests: namespaceSelector",
		Promise: "If the object itself is a namespace, the matching is performed on object.metadata.labels.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Allow(), trial.On("CREATE", trial.Namespaces), t.Own, environment(metav1.LabelSelectorOpIn, "prod")))
			t.NewNamespace(t.Name("in"), map[string]string{"environment": "prod"})
			t.Called("hook")
			t.NewNamespace(t.Name("out"), map[string]string{"environment": "test"})
			t.Called()
		},
	},
	{
		ID: "match.namespaceSelector.clusterScope", Source: dynamic + "Matching requests: namespaceSelector",
		Promise: "If the object is a cluster scoped resource other than a Namespace, namespaceSelector has no effect.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Allow(), trial.On("CREATE", trial.ClusterRoles), t.Own, environment(metav1.LabelSelectorOpIn, "nowhere")))
			t.Create(trial.ClusterRoles, t.Object(trial.ClusterRoles, t.Name("role"))).OK()
			t.Called("hook")
		},
	},
	{
		ID: "match.namespaceSelector.subresource", Source: dynamic + "Matching requests: namespaceSelector",
		Promise: "Requests for subresources match by the labels of the namespace too.",
		Run: func(t *trial.T) {
			t.NewNamespace(t.Name("out"), nil)
			out := trial.Deployments.In(t.Name("out"))
			t.Create(out, deployment(t, "web")).OK()
			t.Install(trial.Validating("hook", trial.Allow(), trial.On("*", trial.Deployments.Sub("scale")), environment(metav1.LabelSelectorOpIn, "prod")))
			t.Patch(out.Sub("scale"), "web", trial.MergePatch, trial.Object{"spec": trial.Object{"replicas": 0}}).OK()
			t.Called()
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

// environment returns a requirement for the namespace label environment.
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
			ID: "match.conditions.errorFail", Promise: "If a match condition fails to evaluate and the failure policy is Fail, the request is rejected without a call.",
			Run: func(t *trial.T) {
				t.Install(trial.Validating("hook", trial.Allow(), trial.When("error", "object.data.missing == 'x'")))
				a := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value"))
				t.True(a.Code >= 400, "a refusal", string(a.Body))
				t.Called()
			},
		},
		{
			ID: "match.conditions.errorIgnore", Promise: "If a match condition fails to evaluate and the failure policy is Ignore, the request goes on and the webhook is skipped.",
			Run: func(t *trial.T) {
				t.Install(pairOf(trial.Deny(403, "no"), trial.When("error", "object.data.missing == 'x'"), trial.Fails(admissionregistrationv1.Ignore))...)
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
				t.Called()
			},
		},
		{
			ID: "match.conditions.falseBeatsError", Promise: "If any match condition evaluates to false, the webhook is skipped even if another one fails to evaluate.",
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
		{"request", "request is the request part of the AdmissionReview.", "CREATE", "request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap' && request.name == 'a' && !request.dryRun"},
		{"options", "request.options has the options of the operation.", "DELETE", "request.options.kind == 'DeleteOptions'"},
		{"userInfo", "request.userInfo is the authenticated user.", "CREATE", "request.userInfo.groups.exists(g, g == 'system:authenticated')"},
		{"authorizer", "authorizer performs checks for the user of the request.", "CREATE", "authorizer.group('').resource('configmaps').namespace(request.namespace).check('create').allowed()"},
		{"authorizerResource", "authorizer.requestResource is the check of the requested resource.", "CREATE", "authorizer.requestResource.check('create').allowed()"},
	} {
		tests = append(tests, trial.Test{
			ID: "match.conditions.variable." + v.name, Promise: v.promise,
			Run: func(t *trial.T) {
				t.Install(trial.Validating("true", trial.Allow(), trial.On(v.operation, trial.ConfigMaps), trial.When("holds", v.expression)),
					trial.Validating("false", trial.Allow(), trial.On(v.operation, trial.ConfigMaps), trial.When("holds-not", "!("+v.expression+")")))
				o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "new")).OK()
				t.Update(trial.ConfigMaps, o.With("data.key", "newer")).OK()
				t.Delete(trial.ConfigMaps, "a", nil).OK()
				t.Called("true")
			},
		})
	}
	for i := range tests {
		tests[i].Needs, tests[i].Source = needs, dynamic+matchConditions
	}
	return tests
}
