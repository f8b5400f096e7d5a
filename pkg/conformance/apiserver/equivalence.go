package apiserver

import (
	"fmt"
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

const (
	exact      = admissionregistrationv1.Exact
	equivalent = admissionregistrationv1.Equivalent
)

// equivalence has the cases about requests in a version that a webhook's rules don't name (matchPolicy).
var equivalence = equivalenceTests()

func equivalenceTests() []trial.Test {
	both := []trial.Need{trial.Serves(trial.HPAsV1, trial.HPAsV2)}
	tests := []trial.Test{
		{
			ID: "match.policy.exact", Promise: "Exact means a request should be intercepted only if it exactly matches a specified rule.",
			Run: func(t *trial.T) {
				t.Install(pairOf(trial.Allow(), trial.On("*", trial.HPAsV1), trial.Matches(exact))...)
				t.Create(trial.HPAsV2, autoscaler(t, trial.HPAsV2, "a"), "dryRun=All").OK()
				t.Called()
				t.Create(trial.HPAsV1, autoscaler(t, trial.HPAsV1, "a"), "dryRun=All").OK()
				t.Called("mutating", "validating")
			},
		},
		{
			ID:      "match.policy.equivalent",
			Promise: "Equivalent means a request should be intercepted if it modifies a resource listed in rules, even via another API group or version.",
			Run: func(t *trial.T) {
				t.Install(pairOf(trial.Allow(), trial.On("*", trial.HPAsV1), trial.Matches(equivalent))...)
				t.Create(trial.HPAsV2, autoscaler(t, trial.HPAsV2, "a"), "dryRun=All").OK()
				t.Called("mutating", "validating")
			},
		},
		{
			ID:      "match.policy.default",
			Promise: "Admission webhooks created using admissionregistration.k8s.io/v1 default to Equivalent: a request in another version is intercepted.",
			Run: func(t *trial.T) {
				t.Install(trial.Validating("hook", trial.Allow(), trial.On("*", trial.HPAsV2)))
				t.Create(trial.HPAsV1, autoscaler(t, trial.HPAsV1, "a"), "dryRun=All").OK()
				t.Called("hook")
			},
		},
		{
			ID:      "match.policy.converted",
			Promise: "The objects are converted to a version the webhook had specified; kind and resource name this version, requestKind and requestResource the requested one.",
			Run: func(t *trial.T) {
				t.Install(trial.Validating("hook", trial.Allow(), trial.On("*", trial.HPAsV1)))
				o := autoscaler(t, trial.HPAsV2, "a").With("spec.metrics", []any{trial.Object{"type": "Resource", "resource": trial.Object{
					"name": "cpu", "target": trial.Object{"type": "Utilization", "averageUtilization": 55}}}})
				t.Create(trial.HPAsV2, o).OK()
				r := t.One("hook")
				t.Equal("kind", trial.Object{"group": "autoscaling", "version": "v1", "kind": "HorizontalPodAutoscaler"}, r.At("kind"))
				t.Equal("resource", trial.Object{"group": "autoscaling", "version": "v1", "resource": "horizontalpodautoscalers"}, r.At("resource"))
				t.Equal("requestKind", trial.Object{"group": "autoscaling", "version": "v2", "kind": "HorizontalPodAutoscaler"}, r.At("requestKind"))
				t.Equal("requestResource", trial.Object{"group": "autoscaling", "version": "v2", "resource": "horizontalpodautoscalers"}, r.At("requestResource"))
				t.Equal("object.apiVersion", "autoscaling/v1", r.At("object.apiVersion"))
				t.Equal("object.spec.targetCPUUtilizationPercentage", 55, r.At("object.spec.targetCPUUtilizationPercentage"))
			},
		},
		{
			ID: "match.policy.convertedOld", Promise: "The oldObject is converted too.",
			Run: func(t *trial.T) {
				o := t.Create(trial.HPAsV2, autoscaler(t, trial.HPAsV2, "a")).OK()
				t.Install(trial.Validating("hook", trial.Allow(), trial.On("*", trial.HPAsV1)))
				t.Update(trial.HPAsV2, o.With("spec.maxReplicas", 4)).OK()
				t.Equal("oldObject.apiVersion", "autoscaling/v1", t.One("hook").At("oldObject.apiVersion"))
				t.Delete(trial.HPAsV2, "a", nil).OK()
				t.Equal("oldObject.apiVersion of the DELETE", "autoscaling/v1", t.One("hook").At("oldObject.apiVersion"))
			},
		},
		{
			ID:      "match.policy.patchedBack",
			Promise: "The patch of a webhook that was sent a converted object changes the object of the requested version.",
			Run: func(t *trial.T) {
				t.Install(trial.Mutating("hook", trial.Patch(trial.Add("/spec/targetCPUUtilizationPercentage", 44)), trial.On("*", trial.HPAsV1)))
				o := t.Create(trial.HPAsV2, autoscaler(t, trial.HPAsV2, "a")).OK()
				metrics := o.Objects("spec.metrics")
				if t.True(len(metrics) == 1, "one metric", fmt.Sprint(len(metrics))) {
					t.Equal("averageUtilization", 44, metrics[0].At("resource.target.averageUtilization"))
				}
				t.Equal("apiVersion of the answer", "autoscaling/v2", o["apiVersion"])
			},
		},
		{
			ID: "match.policy.patchedForward", Promise: "A patch in a newer version changes the object of the requested older version.",
			Run: func(t *trial.T) {
				t.Install(trial.Mutating("hook", trial.Patch(trial.Op{Op: "replace", Path: "/spec/metrics/0/resource/target/averageUtilization", Value: 90}), trial.On("*", trial.HPAsV2)))
				o := t.Create(trial.HPAsV1, autoscaler(t, trial.HPAsV1, "a").With("spec.targetCPUUtilizationPercentage", 50)).OK()
				t.Equal("apiVersion of the answer", "autoscaling/v1", o["apiVersion"])
				t.Equal("spec.targetCPUUtilizationPercentage", 90, o.At("spec.targetCPUUtilizationPercentage"))
				seen := t.One("hook").Sub("object").Objects("spec.metrics")
				if t.True(len(seen) == 1, "one metric in the review", fmt.Sprint(len(seen))) {
					t.Equal("averageUtilization in the review", 50, seen[0].At("resource.target.averageUtilization"))
				}
			},
		},
		{
			ID:      "match.policy.exactFirst",
			Promise: "A request that exactly matches a rule is sent as it is, whatever other versions the rules list.",
			Run: func(t *trial.T) {
				t.Install(trial.Validating("hook", trial.Allow(), trial.On("*", trial.HPAsV1, trial.HPAsV2)))
				t.Create(trial.HPAsV2, autoscaler(t, trial.HPAsV2, "a"), "dryRun=All").OK()
				t.Equal("kind.version", "v2", t.One("hook").At("kind.version"))
				t.Create(trial.HPAsV1, autoscaler(t, trial.HPAsV1, "a"), "dryRun=All").OK()
				t.Equal("kind.version", "v1", t.One("hook").At("kind.version"))
			},
		},
		{
			ID: "match.policy.status", Promise: "Subresources are equivalent in all versions of their resource.",
			Run: func(t *trial.T) {
				t.Create(trial.HPAsV2, autoscaler(t, trial.HPAsV2, "a")).OK()
				t.Install(trial.Validating("hook", trial.Allow(), trial.On("*", trial.HPAsV1.Sub("status"))))
				t.Patch(trial.HPAsV2.Sub("status"), "a", trial.MergePatch, trial.Object{"status": trial.Object{"desiredReplicas": 1}}).OK()
				r := t.One("hook")
				t.Equal("resource.version", "v1", r.At("resource.version"))
				t.Equal("requestResource.version", "v2", r.At("requestResource.version"))
				t.Equal("requestSubResource", "status", r.At("requestSubResource"))
			},
		},
		{
			ID:      "match.policy.otherGroup",
			Promise: "Resources with the same name in different groups are not equivalent if their data isn't the same.",
			Run: func(t *trial.T) {
				t.Install(trial.Validating("hook", trial.Allow(), trial.Rules(trial.Rule("*", "conformance.invalid", "v1", "horizontalpodautoscalers"))))
				t.Create(trial.HPAsV2, autoscaler(t, trial.HPAsV2, "a"), "dryRun=All").OK()
				t.Called()
			},
		},
	}
	for i := range tests {
		tests[i].Needs, tests[i].Source = both, dynamic+"Matching requests: matchPolicy"
	}
	return append(append(tests, customEquivalence()...), trial.Test{
		ID: "match.policy.notServed", Source: dynamic + "Matching requests: matchPolicy",
		Promise: "A version that the server knows and doesn't serve has no equivalent: a webhook for it isn't called.",
		Needs:   []trial.Need{trial.Unserved(unservedDeployments)},
		Run: func(t *trial.T) {
			t.Install(pairOf(trial.Deny(http.StatusTeapot, "no"), trial.On("*", unservedDeployments), trial.Matches(equivalent))...)
			t.Create(trial.Deployments, deployment(t, "web")).OK()
			t.Called()
		},
	}, trial.Test{
		ID: "match.policy.custom", Source: dynamic + "Matching requests: matchPolicy",
		Needs:   []trial.Need{trial.Serves(trial.Definitions)},
		Promise: "The versions of a custom resource are equivalent.",
		Run: func(t *trial.T) {
			v1, v2 := define(t, "things")
			t.Install(trial.Mutating("exact", trial.Allow(), trial.On("*", v1), trial.Matches(exact)),
				trial.Mutating("mutating", trial.Patch(trial.Add("/spec", trial.Object{"size": 1})), trial.On("*", v1), trial.Matches(equivalent)),
				trial.Validating("validating", trial.Allow(), trial.On("*", v1)))
			created := t.Create(v2, t.Object(v2, "a")).OK()
			t.Equal("apiVersion of the answer", v2.GroupVersion(), created["apiVersion"])
			t.Equal("spec, which the webhook adds", trial.Object{"size": 1}, created["spec"])
			calls := t.Calls()
			t.Called("mutating", "validating")
			for _, call := range calls {
				r := call.Request()
				t.Equal("resource", trial.Object{"group": v1.Group, "version": "v1", "resource": v1.Name}, r.At("resource"))
				t.Equal("requestResource", trial.Object{"group": v1.Group, "version": "v2", "resource": v1.Name}, r.At("requestResource"))
				t.Equal("kind", trial.Object{"group": v1.Group, "version": "v1", "kind": v1.Kind}, r.At("kind"))
				t.Equal("requestKind", trial.Object{"group": v1.Group, "version": "v2", "kind": v1.Kind}, r.At("requestKind"))
				t.Equal("object.apiVersion", v1.GroupVersion(), r.At("object.apiVersion"))
			}
		},
	}, trial.Test{
		ID: "match.policy.groups", Source: dynamic + "Matching requests: matchPolicy", Needs: []trial.Need{trial.Serves(oldDeployments)},
		Promise: "A request via extensions/v1beta1 is sent to a webhook that registered for apps/v1 deployments, with the object converted to apps/v1.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("exact", trial.Allow(), trial.On("*", trial.Deployments), trial.Matches(exact)), trial.Validating("hook", trial.Allow(), trial.On("*", trial.Deployments)))
			t.Create(oldDeployments, deployment(t, "web").With("apiVersion", oldDeployments.GroupVersion())).OK()
			calls := t.Calls()
			t.Called("hook")
			for _, call := range calls {
				t.Equal("object.apiVersion", "apps/v1", call.Request().At("object.apiVersion"))
				t.Equal("requestResource.group", "extensions", call.Request().At("requestResource.group"))
			}
		},
	}, trial.Test{
		ID: "match.policy.scale", Source: kep492 + "Convert to webhook-requested version",
		Needs:   []trial.Need{trial.Serves(oldDeployments.Sub("scale"))},
		Promise: "The Scale of deployments in extensions/v1beta1 is equivalent to the Scale of deployments in apps/v1, whose kind is in autoscaling/v1.",
		Run: func(t *trial.T) {
			t.Create(trial.Deployments, deployment(t, "web")).OK()
			t.Install(trial.Validating("hook", trial.Allow(), trial.On("*", trial.Deployments.Sub("scale"))))
			t.Patch(oldDeployments.Sub("scale"), "web", trial.MergePatch, trial.Object{"spec": trial.Object{"replicas": 0}}).OK()
			r := t.One("hook")
			t.Equal("kind", trial.Object{"group": "autoscaling", "version": "v1", "kind": "Scale"}, r.At("kind"))
			t.Equal("object.apiVersion", "autoscaling/v1", r.At("object.apiVersion"))
			t.Equal("requestKind", trial.Object{"group": "extensions", "version": "v1beta1", "kind": "Scale"}, r.At("requestKind"))
		},
	})
}

// oldDeployments are in a group and version that newer servers no longer serve.
var oldDeployments = trial.Resource{Group: "extensions", Version: "v1beta1", Name: "deployments", Kind: "Deployment", Namespaced: true}

// customEquivalence has the cases about rules of webhooks for a custom resource, whose versions are equivalent.
func customEquivalence() []trial.Test {
	tests := []trial.Test{
		{
			ID:      "match.policy.firstRule",
			Promise: "A request that matches no rule exactly is sent in the version of the first rule that is equivalent.",
			Run: func(t *trial.T) {
				v1, v2 := define(t, "things", third)
				v3 := v2
				v3.Version = "v3"
				t.Install(pairOf(trial.Allow(), trial.On("*", v2, v1))...)
				t.Create(v3, t.Object(v3, "a")).OK()
				sentIn(t, "v2", "mutating", "validating")
			},
		},
		{
			ID: "match.policy.allVersions", Promise: "A rule for all versions matches each request exactly: nothing is converted.",
			Run: func(t *trial.T) {
				v1, v2 := define(t, "things")
				t.Install(pairOf(trial.Allow(), trial.Rules(trial.Rule("*", v1.Group, "*", v1.Name)))...)
				t.Create(v2, t.Object(v2, "a")).OK()
				sentIn(t, "v2", "mutating", "validating")
			},
		},
		{
			ID:      "match.policy.anyGroup",
			Promise: "A rule for a version of all groups is equivalent in the group that has the resource in this version.",
			Run: func(t *trial.T) {
				v1, v2 := define(t, "things")
				t.Install(pairOf(trial.Allow(), trial.Rules(trial.Rule("*", "*", "v1", v1.Name)))...)
				t.Create(v2, t.Object(v2, "a")).OK()
				sentIn(t, "v1", "mutating", "validating")
			},
		},
		{
			ID:      "match.policy.wholeRule",
			Promise: "An equivalent rule must match as a whole: a rule for another operation isn't equivalent.",
			Run: func(t *trial.T) {
				v1, v2 := define(t, "things")
				t.Install(pairOf(trial.Allow(), trial.On("UPDATE", v1))...)
				o := t.Create(v2, t.Object(v2, "a")).OK()
				t.Called()
				t.Update(v2, o.With("spec", trial.Object{"size": 1})).OK()
				sentIn(t, "v1", "mutating", "validating")
			},
		},
		{
			ID:      "match.policy.chain",
			Promise: "Webhooks with rules for different versions see the changes of the earlier ones, even if a webhook between them changes nothing.",
			Run: func(t *trial.T) {
				v1, v2 := define(t, "things")
				adds := func(letter string) trial.Reply {
					return trial.Answering(func(c *trial.Call) trial.Response {
						return trial.Patched(trial.Add("/spec/trail", c.Request().Text("object.spec.trail")+letter))
					})
				}
				t.Install(trial.Mutating("a", trial.Allow(), trial.On("*", v1)), trial.Mutating("b", adds("b"), trial.On("*", v1)), trial.Mutating("c", trial.Allow(), trial.On("*", v2)),
					trial.Mutating("d", adds("d"), trial.On("*", v2)), trial.Mutating("e", trial.Allow(), trial.On("*", v1)), trial.Mutating("f", adds("f"), trial.On("*", v1)),
					trial.Validating("g", trial.Allow(), trial.On("*", v2)))
				o := t.Create(v1, t.Object(v1, "a").With("spec.trail", "")).OK()
				trails := []string{}
				for _, call := range t.Calls() {
					trails = append(trails, call.Request().Text("object.spec.trail")+" "+call.Request().Text("object.apiVersion")[len(v1.Group)+1:])
				}
				t.Called("a", "b", "c", "d", "e", "f", "g")
				t.Equal("spec.trail and the version that each webhook sees", []string{" v1", " v1", "b v2", "b v2", "bd v1", "bd v1", "bdf v2"}, trails)
				t.Equal("spec.trail that is stored", "bdf", o.At("spec.trail"))
			},
		},
		{
			ID:      "match.policy.skipped",
			Promise: "A webhook whose match conditions are false in its version isn't called, and the changes of other webhooks stay.",
			Needs:   []trial.Need{trial.Since(30)},
			Run: func(t *trial.T) {
				v1, v2 := define(t, "things")
				t.Install(trial.Mutating("a", trial.Patch(trial.Add("/spec/size", 12)), trial.On("*", v1)),
					trial.Mutating("b", trial.Patch(trial.Add("/spec/size", 13)), trial.On("*", v2), trial.When("other", "object.metadata.name == 'other'")),
					trial.Mutating("c", trial.Patch(trial.Add("/spec/more", 1)), trial.On("*", v1)))
				o := t.Create(v1, t.Object(v1, "a").With("spec.size", 1)).OK()
				seen := t.Calls("c")
				t.Called("a", "c")
				if len(seen) == 1 {
					t.Equal("spec.size that the webhook after it sees", 12, seen[0].Request().At("object.spec.size"))
				}
				t.Equal("spec", trial.Object{"size": 12, "more": 1}, o["spec"])
			},
		},
	}
	for i := range tests {
		tests[i].Source = dynamic + "Matching requests: matchPolicy"
		tests[i].Needs = append(tests[i].Needs, trial.Serves(trial.Definitions))
	}
	return append(tests, trial.Test{
		ID: "match.policy.events", Source: dynamic + "Matching requests: matchPolicy",
		Needs:   []trial.Need{trial.Serves(events, oldEvents)},
		Promise: "Events of events.k8s.io/v1 and of v1 are equivalent: the webhook and the client each have the fields of their version.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("hook", trial.Patch(trial.Op{Op: "replace", Path: "/message", Value: "after"}), trial.On("*", oldEvents)))
			o := t.Object(events, "a").With("eventTime", "2026-01-01T00:00:00.000000Z").With("reportingController", "conformance.miniapi.dev/c").With("reportingInstance", "c-1").
				With("action", "Test").With("reason", "Test").With("type", "Normal").With("note", "before").
				With("regarding", trial.Object{"kind": "Pod", "namespace": t.Namespace(), "name": "p"})
			created := t.Create(events, o).OK()
			t.Equal("apiVersion of the answer", "events.k8s.io/v1", created["apiVersion"])
			t.Equal("note of the answer", "after", created["note"])
			r := t.One("hook")
			t.Equal("object.apiVersion", "v1", r.At("object.apiVersion"))
			t.Equal("object.message", "before", r.At("object.message"))
		},
	})
}

// sentIn checks that the webhooks in hooks were called once each, in this order, with objects in a version.
func sentIn(t *trial.T, version string, hooks ...string) {
	for _, call := range t.Calls() {
		r := call.Request()
		t.Equal("resource.version that "+call.Hook+" is sent", version, r.At("resource.version"))
		t.Equal("kind.version that "+call.Hook+" is sent", version, r.At("kind.version"))
		t.Equal("the version of the object that "+call.Hook+" is sent", r.Text("resource.group")+"/"+version, r.At("object.apiVersion"))
	}
	t.Called(hooks...)
}

// events and oldEvents are the same Events in two API groups.
var (
	events    = trial.Resource{Group: "events.k8s.io", Version: "v1", Name: "events", Kind: "Event", Namespaced: true}
	oldEvents = trial.Resource{Version: "v1", Name: "events", Kind: "Event", Namespaced: true}
)

// unservedDeployments is the resource of Deployments in a version whose types Kubernetes still has, but no longer serves.
var unservedDeployments = trial.Resource{Group: "apps", Version: "v1beta2", Name: "deployments", Kind: "Deployment", Namespaced: true}
