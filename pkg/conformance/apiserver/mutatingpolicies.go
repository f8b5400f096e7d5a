package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// addsKey is a mutation that adds the key "added" to the data.
var addsKey = trial.JSONPatchMutation(`[JSONPatch{op: "add", path: "/data/added", value: "yes"}]`)

// failingMutations are mutations that fail for the data {"key": "value"}.
var failingMutations = []struct {
	name     string
	mutation trial.Object
}{
	{"evaluation", trial.JSONPatchMutation(`[JSONPatch{op: "add", path: "/data/added", value: object.data.missing}]`)},
	{"patch", trial.JSONPatchMutation(`[JSONPatch{op: "remove", path: "/data/missing"}]`)},
}

// mutatingPolicies has the cases about mutating admission policies.
var mutatingPolicies = mutatingPolicyTests()

func mutatingPolicyTests() []trial.Test {
	tests := []trial.Test{
		{
			ID:      "mutatingPolicy.jsonPatch",
			Promise: "A mutation of the type JSONPatch changes the object by the operations that its expression returns.",
			Run: func(t *trial.T) {
				p := t.MutatingPolicy("p", addsKey)
				t.EnforceMutating(p, t.MutatingBinding(p))
				t.Equal("data", trial.Object{"added": "yes", "key": "value"}, t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK().At("data"))
			},
		},
		{
			ID:      "mutatingPolicy.jsonPatch.escapeKey",
			Promise: "The function jsonpatch.escapeKey escapes a key in a path, and the operations are applied in order.",
			Run: func(t *trial.T) {
				p := t.MutatingPolicy("p", trial.JSONPatchMutation(`[JSONPatch{op: "add", path: "/metadata/annotations", value: {"a/b": "1"}}, `+
					`JSONPatch{op: "replace", path: "/metadata/annotations/" + jsonpatch.escapeKey("a/b"), value: "2"}, JSONPatch{op: "remove", path: "/data/key"}]`))
				t.EnforceMutating(p, t.MutatingBinding(p))
				o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value", "other", "stays")).OK()
				t.Equal("data", trial.Object{"other": "stays"}, o.At("data"))
				t.Equal("the annotation", "2", o.Annotation("a/b"))
			},
		},
		{
			ID:      "mutatingPolicy.params",
			Promise: "Mutations can use the parameters that paramRef of the binding names.", Cost: 20 * time.Second,
			Timeout: 2 * time.Minute,
			Run: func(t *trial.T) {
				// The parameters have a kind that only this case uses. kube-apiserver 1.36 reads parameters of a
				// built-in kind once: after the last policy with the kind is deleted, it doesn't read them again.
				limits, _ := define(t, "limits")
				t.Create(limits, limit(t, limits, "param", "yes")).OK()
				p := t.MutatingPolicy("p", trial.ApplyMutation(`Object{data: {"added": string(params.spec.wanted)}}`))
				p = p.With("spec.paramKind", trial.Object{"apiVersion": limits.GroupVersion(), "kind": limits.Kind})
				reference := trial.Object{"name": "param", "namespace": t.Namespace(), "parameterNotFoundAction": "Deny"}
				t.EnforceMutating(p, t.MutatingBinding(p).With("spec.paramRef", reference))
				var data any
				t.Eventually("the parameter is in effect", paramTimeout, func() string {
					a := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), dry)
					if data = a.Object["data"]; a.Object.At("data.added") == nil {
						return string(a.Body)
					}
					return ""
				})
				t.Equal("data", trial.Object{"added": "yes", "key": "value"}, data)
			},
		},
		{
			ID:      "mutatingPolicy.apply",
			Promise: "A mutation of the type ApplyConfiguration is merged into the object as server-side apply does.",
			Run: func(t *trial.T) {
				p := t.MutatingPolicy("p", trial.ApplyMutation(`Object{metadata: Object.metadata{labels: {"added": "yes"}}, data: {"new": "1", "old": "2"}}`))
				t.EnforceMutating(p, t.MutatingBinding(p))
				o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value", "old", "1")).OK()
				t.Equal("the label", "yes", o.Label("added"))
				t.Equal("another label", t.Namespace(), o.Label(trial.LabelCase))
				t.Equal("data", trial.Object{"key": "value", "new": "1", "old": "2"}, o.At("data"))
			},
		},
		{
			ID:      "mutatingPolicy.apply.items",
			Promise: "An apply configuration is merged by the rules of server-side apply: items of lists by their keys.",
			Run: func(t *trial.T) {
				t.Create(trial.ServiceAccounts, t.Object(trial.ServiceAccounts, "conformance")).OK()
				p := onResource(t.MutatingPolicy("p", trial.ApplyMutation(`Object{spec: Object.spec{containers: [
					Object.spec.containers{name: "main", env: [Object.spec.containers.env{name: "MODE", value: "merged"}]},
					Object.spec.containers{name: "sidecar", image: "conformance.invalid/sidecar:1"}]}}`)), trial.Pods)
				t.EnforceMutating(p, t.MutatingBinding(p))
				containers := t.Create(trial.Pods, t.Object(trial.Pods, "a").With("spec", template())).OK().Objects("spec.containers")
				if t.True(len(containers) == 2, "two containers", fmt.Sprint(len(containers))) {
					t.Equal("the image of the first one", "conformance.invalid/main:1", containers[0]["image"])
					t.Equal("its environment", []any{trial.Object{"name": "MODE", "value": "merged"}}, containers[0]["env"])
					t.Equal("the name of the second one", "sidecar", containers[1]["name"])
				}
			},
		},
		{
			ID:      "mutatingPolicy.apply.custom",
			Promise: "An apply configuration is merged into a custom resource by its schema.", Cost: 5 * time.Second,
			Run: func(t *trial.T) {
				v1, _ := define(t, "things", sized)
				p := onResource(t.MutatingPolicy("p", trial.ApplyMutation(`Object{spec: Object.spec{size: 2}}`)), v1)
				t.EnforceMutating(p, t.MutatingBinding(p))
				o := t.Object(v1, "a").With("spec", trial.Object{"size": 1, "color": "blue", "names": []string{"one", "two"}, "since": "2026-01-01T00:00:00Z", "replicas": 1})
				// The server may need some time to read the schema of a new definition.
				t.Eventually("the policy is in effect", paramTimeout, func() string {
					a := t.Create(v1, o, dry)
					if !trial.Same(2, a.Object.At("spec.size")) {
						return string(a.Body)
					}
					t.Equal("spec", o.With("spec.size", 2)["spec"], a.Object["spec"])
					return ""
				})
			},
		},
		{
			ID:      "mutatingPolicy.delete",
			Promise: "A policy for all operations isn't evaluated for a DELETE, which has no object to change.",
			Run: func(t *trial.T) {
				p := t.MutatingPolicy("p", addsKey)
				p = onOperations(p, "*").With("spec.matchConditions", []any{trial.Object{"name": "named", "expression": "object.metadata.name == 'a'"}})
				t.EnforceMutating(p, t.MutatingBinding(p))
				t.Equal("data.added", "yes", t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK().At("data.added"))
				t.Delete(trial.ConfigMaps, "a", nil).OK()
			},
		},
		{
			ID:      "mutatingPolicy.validation.delete",
			Promise: "Operations of a policy are CREATE, UPDATE, CONNECT and *: DELETE is refused.",
			Run: func(t *trial.T) {
				p := t.MutatingPolicy("p", addsKey)
				t.Create(trial.MutatingPolicies, onOperations(p, "CREATE", "DELETE"), dry).Refused(http.StatusUnprocessableEntity, "operations")
				rules := trial.Object{"resourceRules": []any{p.Objects("spec.matchConstraints.resourceRules")[0].With("operations", []string{"DELETE"})}}
				t.Create(trial.MutatingBindings, t.MutatingBinding(p).With("spec.matchResources", rules), dry).Refused(http.StatusUnprocessableEntity, "operations")
			},
		},
		{
			ID:      "mutatingPolicy.reinvocation.policies",
			Promise: "A policy with the reinvocationPolicy IfNeeded is evaluated again, once, after the changes of policies; a policy with Never isn't.",
			Run: func(t *trial.T) {
				grows := func(short, letter, policy string) trial.Object {
					return t.MutatingPolicy(short, trial.JSONPatchMutation(`[JSONPatch{op: "replace", path: "/data/trail", value: object.data.trail + "`+letter+`"}]`)).With("spec.reinvocationPolicy", policy)
				}
				for _, p := range []trial.Object{grows("p", "p", "IfNeeded"), grows("q", "q", "Never")} {
					t.EnforceMutating(p, t.MutatingBinding(p))
				}
				// The order of policies isn't promised.
				trail := t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK().Text("data.trail")
				t.Equal("how often the policies are evaluated", trial.Object{"p": 2, "q": 1}, trial.Object{"p": strings.Count(trail, "p"), "q": strings.Count(trail, "q")})
			},
		},
		{
			ID: "mutatingPolicy.unbound", Promise: "A policy without a binding has no effect.",
			Run: func(t *trial.T) {
				t.EnforceMutating(t.MutatingPolicy("p", addsKey))
				t.Equal("data", trial.Object{"key": "value"}, t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK().At("data"))
			},
		},
		{
			ID: "mutatingPolicy.matchConditions", Promise: "A request is mutated if all match conditions are true.",
			Run: func(t *trial.T) {
				p := t.MutatingPolicy("p", addsKey).With("spec.matchConditions", []any{trial.Object{"name": "named", "expression": "object.metadata.name == 'b'"}})
				t.EnforceMutating(p, t.MutatingBinding(p))
				t.Equal("data.added of a", nil, t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK().At("data.added"))
				t.Equal("data.added of b", "yes", t.Create(trial.ConfigMaps, t.ConfigMap("b", "key", "value")).OK().At("data.added"))
			},
		},
		{
			ID: "mutatingPolicy.variables", Promise: "Variables can be used by mutations.",
			Run: func(t *trial.T) {
				p := t.MutatingPolicy("p", trial.JSONPatchMutation(`[JSONPatch{op: "add", path: "/data/added", value: variables.name}]`)).
					With("spec.variables", []any{trial.Object{"name": "name", "expression": "object.metadata.name + (request.userInfo.username == '' ? '' : '!')"}})
				t.EnforceMutating(p, t.MutatingBinding(p))
				t.Equal("data.added", "a!", t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK().At("data.added"))
			},
		},
		{
			ID:      "mutatingPolicy.sequence",
			Promise: "Mutations of a policy are applied in order, each to the result of the previous mutation.",
			Run: func(t *trial.T) {
				p := t.MutatingPolicy("p", addsKey, trial.ApplyMutation(`Object{data: {"added": object.data.added + "1"}}`),
					trial.JSONPatchMutation(`[JSONPatch{op: "replace", path: "/data/added", value: object.data.added + "2"}]`), trial.ApplyMutation(`Object{data: {"added": object.data.added + "3"}}`))
				t.EnforceMutating(p, t.MutatingBinding(p))
				t.Equal("data.added", "yes123", t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK().At("data.added"))
			},
		},
		{
			ID: "mutatingPolicy.beforeWebhooks", Promise: "Webhooks see the changes of policies.",
			Run: func(t *trial.T) {
				p := t.MutatingPolicy("p", addsKey)
				t.EnforceMutating(p, t.MutatingBinding(p))
				t.Install(trial.Mutating("mutating", trial.Allow()), trial.Validating("validating", trial.Allow()))
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
				for _, call := range t.Calls() {
					t.Equal("object.data.added that "+call.Hook+" is sent", "yes", call.Request().At("object.data.added"))
				}
				t.Called("mutating", "validating")
			},
		},
		{
			ID: "mutatingPolicy.failure.fail", Promise: "failurePolicy Fail: a mutation that fails refuses the request.",
			Run: func(t *trial.T) {
				for _, failing := range failingMutations {
					p := t.MutatingPolicy(failing.name, failing.mutation)
					t.EnforceMutating(p, t.MutatingBinding(p))
					a := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value"))
					if !t.True(a.Code >= 400, "a refusal", fmt.Sprint(a.Code)) {
						return
					}
					t.Contains("the message of the refusal", p.Name(), a.Object.Text("message"))
					t.Delete(trial.MutatingBindings, p.Name(), nil).OK()
					t.Eventually("the policy is no longer in effect", 20*time.Second, func() string {
						return t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), dry).Object.Text("message")
					})
				}
			},
		},
		{
			ID: "mutatingPolicy.failure.ignore", Promise: "failurePolicy Ignore: a mutation that fails changes nothing.",
			Run: func(t *trial.T) {
				for _, failing := range failingMutations {
					p := t.MutatingPolicy(failing.name, failing.mutation).With("spec.failurePolicy", "Ignore")
					t.EnforceMutating(p, t.MutatingBinding(p))
					t.Equal("data", trial.Object{"key": "value"}, t.Create(trial.ConfigMaps, t.ConfigMap(failing.name, "key", "value")).OK().At("data"))
				}
			},
		},
		{
			ID: "mutatingPolicy.validation", Promise: "An expression that doesn't compile is refused.",
			Run: func(t *trial.T) {
				t.Create(trial.MutatingPolicies, t.MutatingPolicy("p", trial.JSONPatchMutation("[(")), "dryRun=All").Refused(http.StatusUnprocessableEntity)
			},
		},
	}
	for _, r := range [][2]string{{"Never", "pw"}, {"IfNeeded", "pwp"}} {
		policy, trail := r[0], r[1]
		tests = append(tests, trial.Test{
			ID:      "mutatingPolicy.reinvocation." + policy,
			Promise: "A policy is evaluated again after a webhook has changed the object, if its reinvocationPolicy is IfNeeded, and not if it is Never: " + policy + ".",
			Run: func(t *trial.T) {
				p := t.MutatingPolicy("p", trial.JSONPatchMutation(`[JSONPatch{op: "replace", path: "/data/trail", value: object.data.trail + "p"}]`)).With("spec.reinvocationPolicy", policy)
				t.EnforceMutating(p, t.MutatingBinding(p))
				t.Install(trial.Mutating("hook", appends("w")))
				t.Equal("data.trail", trail, t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK().At("data.trail"))
			},
		})
	}
	tests = append(tests, exemptions("mutatingPolicy", true)...)
	for i := range tests {
		tests[i].Source = mutatingPol + "API reference"
		tests[i].Needs = append(tests[i].Needs, trial.Serves(trial.MutatingPolicies, trial.MutatingBindings))
	}
	return tests
}

// accessRules is the resource of SelfSubjectRulesReviews, which servers never store.
var accessRules = trial.Resource{Group: "authorization.k8s.io", Version: "v1", Name: "selfsubjectrulesreviews", Kind: "SelfSubjectRulesReview"}

// exemptions has the cases about resources that policies never apply to. If mutates is true, the cases use mutating
// policies, and otherwise validating policies. Each policy refuses all requests that it matches.
func exemptions(prefix string, mutates bool) []trial.Test {
	refuses := func(t *trial.T, groups, resources []string, confine func(policy trial.Object) trial.Object) {
		p := t.Policy("p", validation("false", "never"))
		if mutates {
			p = t.MutatingPolicy("p", trial.JSONPatchMutation(`[JSONPatch{op: "remove", path: "/nothing"}]`))
		}
		p = confine(p.With("spec.matchConstraints.resourceRules", []any{trial.Object{"operations": []string{"*"}, "apiGroups": groups, "apiVersions": []string{"*"}, "resources": resources}}))
		if mutates {
			t.EnforceMutating(p, t.MutatingBinding(p))
		} else {
			t.Enforce(p, t.Binding(p, "Deny"))
		}
	}
	return []trial.Test{{
		ID:      prefix + ".exempt",
		Promise: "A policy applies to webhook configurations, and neither to policies nor to their bindings, so that a wrong policy can be corrected.",
		Run: func(t *trial.T) {
			refuses(t, []string{trial.Policies.Group}, []string{"*"}, func(policy trial.Object) trial.Object {
				return policy.With("spec.matchConstraints.objectSelector", trial.Object{"matchLabels": trial.Object{trial.LabelCase: t.Namespace()}})
			})
			for _, r := range []trial.Resource{trial.ValidatingConfigurations, trial.MutatingConfigurations} {
				_, o := plain(t)
				o = o.With("kind", r.Kind).With("metadata.name", t.Name("judged"))
				a := t.Create(r, o, dry)
				t.True(a.Code >= 400 && strings.Contains(a.Object.Text("message"), t.Name("p")), "the policy refuses a "+r.Kind, fmt.Sprintf("%d %s", a.Code, a.Object.Text("message")))
			}
			validating, mutating := t.Policy("other", validation("true", "never")), t.MutatingPolicy("other", addsKey)
			for _, exempt := range []struct {
				resource trial.Resource
				object   trial.Object
			}{
				{trial.Policies, validating}, {trial.Bindings, t.Binding(validating, "Deny")},
				{trial.MutatingPolicies, mutating}, {trial.MutatingBindings, t.MutatingBinding(mutating)},
			} {
				if _, served := t.Server.Find(exempt.resource); !served {
					continue
				}
				t.Create(exempt.resource, exempt.object).OK()
				t.Patch(exempt.resource, exempt.object.Name(), trial.MergePatch, trial.Object{"metadata": trial.Object{"annotations": trial.Object{"a": "1"}}}).OK()
				t.Delete(exempt.resource, exempt.object.Name(), nil).OK()
			}
		},
	}, {
		ID:      prefix + ".exempt.reviews",
		Promise: "A policy never applies to reviews such as SelfSubjectAccessReview, because clients need their answers.",
		Needs:   []trial.Need{trial.Serves(trial.AccessReviews, accessRules)},
		Run: func(t *trial.T) {
			refuses(t, []string{"", trial.AccessReviews.Group}, []string{"configmaps", trial.AccessReviews.Name, accessRules.Name}, func(policy trial.Object) trial.Object {
				// Reviews can't have labels, so a condition selects the reviews of the case.
				expression := "request.resource.resource == 'configmaps' || (has(object.spec.namespace) ? object.spec.namespace : object.spec.resourceAttributes.namespace) == '" + t.Namespace() + "'"
				return policy.With("spec.matchConditions", []any{trial.Object{"name": "own", "expression": expression}})
			})
			review := func(r trial.Resource, spec trial.Object) {
				t.Create(r, trial.Object{"apiVersion": r.GroupVersion(), "kind": r.Kind, "spec": spec}.Copy()).OK()
			}
			review(trial.AccessReviews, trial.Object{"resourceAttributes": trial.Object{"namespace": t.Namespace(), "verb": "get", "resource": "pods"}})
			review(accessRules, trial.Object{"namespace": t.Namespace()})
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			t.True(a.Code >= 400, "the policy refuses a ConfigMap", fmt.Sprint(a.Code))
		},
	}}
}
