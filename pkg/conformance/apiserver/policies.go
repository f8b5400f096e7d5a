package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// validation returns a validation for the spec of a policy.
func validation(expression, message string) trial.Object {
	return trial.Object{"expression": expression, "message": message}
}

// policies has the cases about validating admission policies.
var policies = policyTests()

func policyTests() []trial.Test {
	tests := []trial.Test{
		{
			ID: "policy.denies", Promise: "A validation whose expression evaluates to false denies the request, under the action Deny.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("object.data.key == 'good'", "the key must be good"))
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "good")).OK()
				status := t.Create(trial.ConfigMaps, t.ConfigMap("b", "key", "bad")).Refused(http.StatusUnprocessableEntity,
					fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%[1]s' denied request: the key must be good", p.Name()))
				t.Equal("reason", "Invalid", status["reason"])
				t.Get(trial.ConfigMaps, "b").Refused(http.StatusNotFound)
			},
		},
		{
			ID: "policy.unbound", Promise: "A policy without a binding has no effect.",
			Run: func(t *trial.T) {
				t.Enforce(t.Policy("p", validation("false", "never")))
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			},
		},
		{
			ID:      "policy.action.warn",
			Promise: "Warn: a validation failure is reported to the request client as a warning, and doesn't deny the request.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("false", "mind this"))
				t.Enforce(p, t.Binding(p, "Warn"))
				a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
				a.OK()
				warned(t, a, "mind this")
			},
		},
		{
			ID:      "policy.action.audit",
			Promise: "Audit: a validation failure is included in the audit event, and doesn't deny the request.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("false", "noted"))
				t.Enforce(p, t.Binding(p, "Audit"))
				a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
				a.OK()
				t.Equal("warnings", 0, len(a.Warnings()))
			},
		},
		{
			ID: "policy.action.denyAndWarn", Promise: "Deny and Warn may not be used together.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("true", "never"))
				t.Create(trial.Bindings, t.Binding(p, "Deny", "Warn"), "dryRun=All").Refused(http.StatusUnprocessableEntity, "validationActions")
			},
		},
		{
			ID: "policy.bindings", Promise: "A policy is enforced by each of its bindings, with the actions of each.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("object.data.key == 'good'", "the key must be good"))
				warn := t.Binding(p, "Warn").With("metadata.name", p.Name()+"-warn")
				t.Enforce(p, t.Binding(p, "Deny"), warn)
				a := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "bad"))
				a.Refused(http.StatusUnprocessableEntity)
				warned(t, a, "the key must be good")
			},
		},
		{
			ID: "policy.binding.matchResources", Promise: "matchResources of a binding limit the requests that the policy applies to.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("false", "never"))
				t.Enforce(p, t.Binding(p, "Deny").With("spec.matchResources", trial.Object{"objectSelector": trial.Object{"matchLabels": trial.Object{"opt": "in"}}}))
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
				t.Create(trial.ConfigMaps, labelled(t, "b")).Refused(http.StatusUnprocessableEntity)
			},
		},
		{
			ID: "policy.message.expression", Promise: "The message of a failure is the result of messageExpression.",
			Run: func(t *trial.T) {
				p := t.Policy("p", trial.Object{"expression": "false", "message": "plain", "messageExpression": "'no ' + object.metadata.name"})
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusUnprocessableEntity, "denied request: no a")
			},
		},
		{
			ID:      "policy.message.fallback",
			Promise: "If messageExpression fails to evaluate, the message of a failure is the value of the field message.",
			Run: func(t *trial.T) {
				p := t.Policy("p", trial.Object{"expression": "false", "message": "plain", "messageExpression": "string(object.data.missing)"})
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).Refused(http.StatusUnprocessableEntity, "denied request: plain")
			},
		},
		{
			ID: "policy.message.default", Promise: "If a validation has no message, the message of a failure contains the expression.",
			Run: func(t *trial.T) {
				p := t.Policy("p", trial.Object{"expression": "object.metadata.name == 'other'"})
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusUnprocessableEntity, "failed expression: object.metadata.name == 'other'")
			},
		},
		{
			ID: "policy.every", Promise: "Every validation of a policy must be true; the answer is the first one that fails.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("true", "first"), validation("false", "second"), validation("false", "third"))
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusUnprocessableEntity, "denied request: second")
			},
		},
		{
			ID: "policy.variables", Promise: "Variables are evaluated once and used by validations, and by later variables.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("variables.good", "not good")).With("spec.variables", []any{
					trial.Object{"name": "key", "expression": "object.data.key"},
					trial.Object{"name": "good", "expression": "variables.key == 'good'"}})
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "good")).OK()
				t.Create(trial.ConfigMaps, t.ConfigMap("b", "key", "bad")).Refused(http.StatusUnprocessableEntity, "not good")
			},
		},
		{
			ID: "policy.matchConditions", Promise: "A request is validated if all match conditions are true.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("false", "never")).With("spec.matchConditions", []any{trial.Object{"name": "named", "expression": "object.metadata.name == 'b'"}})
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
				t.Create(trial.ConfigMaps, t.ConfigMap("b")).Refused(http.StatusUnprocessableEntity)
			},
		},
		{
			ID:      "policy.matchConditions.error",
			Promise: "A match condition that fails to evaluate denies the request, under the failure policy Fail.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("true", "never")).With("spec.matchConditions", []any{trial.Object{"name": "error", "expression": "object.data.missing == 'x'"}})
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).Refused(http.StatusUnprocessableEntity, p.Name(), "no such key: missing")
			},
		},
		{
			ID: "policy.failure.fail", Promise: "failurePolicy Fail: an expression that fails to evaluate denies the request.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("object.data.missing == 'x'", "never"))
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).Refused(http.StatusUnprocessableEntity, "object.data.missing == 'x'", "no such key: missing")
			},
		},
		{
			ID:      "policy.failure.ignore",
			Promise: "failurePolicy Ignore: an expression that fails to evaluate is ignored; an expression that is false still denies.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("object.data.missing == 'x'", "never"), validation("object.metadata.name != 'b'", "not b")).With("spec.failurePolicy", "Ignore")
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
				t.Create(trial.ConfigMaps, t.ConfigMap("b", "key", "value")).Refused(http.StatusUnprocessableEntity, "not b")
			},
		},
		{
			ID: "policy.delete", Promise: "A DELETE can be denied; object is null, and oldObject is the existing object.",
			Run: func(t *trial.T) {
				p := onOperations(t.Policy("p", validation("object != null || oldObject.data.keep != 'yes'", "it stays")), "DELETE")
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "keep", "yes")).OK()
				t.Create(trial.ConfigMaps, t.ConfigMap("b", "keep", "no")).OK()
				t.Delete(trial.ConfigMaps, "a", nil).Refused(http.StatusUnprocessableEntity, "it stays")
				t.Delete(trial.ConfigMaps, "b", nil).OK()
			},
		},
		{
			ID: "policy.constraints.exclude", Promise: "A policy doesn't apply to requests that excludeResourceRules match.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("false", "never")).With("spec.matchConstraints.excludeResourceRules", []any{trial.Object{
					"operations": []string{"*"}, "apiGroups": []string{""}, "apiVersions": []string{"v1"},
					"resources": []string{"configmaps"}, "resourceNames": []string{"exempt"}}})
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("exempt")).OK()
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusUnprocessableEntity)
			},
		},
		{
			ID: "policy.constraints.names", Promise: "A rule with resourceNames matches only objects with these names.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("false", "never"))
				p = p.With("spec.matchConstraints.resourceRules", []any{p.Objects("spec.matchConstraints.resourceRules")[0].With("resourceNames", []string{"b"})})
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
				t.Create(trial.ConfigMaps, t.ConfigMap("b")).Refused(http.StatusUnprocessableEntity)
			},
		},
		{
			ID:      "policy.constraints.objectSelector",
			Promise: "objectSelector of matchConstraints is evaluated against the labels of the object.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("false", "never")).With("spec.matchConstraints.objectSelector", trial.Object{"matchLabels": trial.Object{"opt": "in"}})
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
				t.Create(trial.ConfigMaps, labelled(t, "b")).Refused(http.StatusUnprocessableEntity)
			},
		},
		{
			ID: "policy.constraints.operations", Promise: "A policy for UPDATE doesn't apply to a CREATE.",
			Run: func(t *trial.T) {
				p := onOperations(t.Policy("p", validation("false", "never")), "UPDATE")
				t.Enforce(p, t.Binding(p, "Deny"))
				o := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
				t.Update(trial.ConfigMaps, o.With("data.key", "new")).Refused(http.StatusUnprocessableEntity)
			},
		},
		{
			ID: "policy.constraints.equivalent", Needs: []trial.Need{trial.Serves(trial.HPAsV1, trial.HPAsV2)},
			Promise: "A policy for a version of a resource applies to requests in all versions, with the object converted.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("object.apiVersion == 'autoscaling/v1' && object.spec.maxReplicas < 9", "too many"))
				p = p.With("spec.matchConstraints.resourceRules", []any{trial.Object{"operations": []string{"CREATE"}, "apiGroups": []string{"autoscaling"}, "apiVersions": []string{"v1"}, "resources": []string{"horizontalpodautoscalers"}}})
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.HPAsV2, autoscaler(t, trial.HPAsV2, "a")).OK()
				t.Create(trial.HPAsV2, autoscaler(t, trial.HPAsV2, "b").With("spec.maxReplicas", 9)).Refused(http.StatusUnprocessableEntity, "too many")
			},
		},
		{
			ID: "policy.params", Promise: "params is the object that paramRef of the binding names.",
			Run: func(t *trial.T) {
				limits := enforceWithParam(t, trial.Object{"name": "param", "namespace": t.Namespace(), "parameterNotFoundAction": "Deny"})
				t.Create(limits, limit(t, limits, "param", "good")).OK()
				eventuallyRefused(t, t.ConfigMap("a", "key", "bad"), "wanted good")
				t.Create(trial.ConfigMaps, t.ConfigMap("b", "key", "good")).OK()
			},
		},
		{
			ID: "policy.params.ofNamespace", Promise: "If paramRef has no namespace, the parameter is in the object's namespace.",
			Run: func(t *trial.T) {
				limits := enforceWithParam(t, trial.Object{"name": "param", "parameterNotFoundAction": "Deny"})
				t.Create(limits, limit(t, limits, "param", "good")).OK()
				eventuallyRefused(t, t.ConfigMap("a", "key", "bad"), "wanted good")
				t.Create(trial.ConfigMaps, t.ConfigMap("b", "key", "good")).OK()
			},
		},
		{
			ID:      "policy.params.selected",
			Promise: "A paramRef with a selector uses all objects that the selector matches: the validations must be true for each of them.",
			Run: func(t *trial.T) {
				limits := enforceWithParam(t, trial.Object{"selector": trial.Object{"matchLabels": trial.Object{"param": "yes"}}, "namespace": t.Namespace(), "parameterNotFoundAction": "Deny"})
				t.Create(limits, limit(t, limits, "one", "good").WithLabel("param", "yes")).OK()
				t.Create(limits, limit(t, limits, "two", "better").WithLabel("param", "yes")).OK()
				t.Create(limits, limit(t, limits, "three", "none")).OK()
				eventuallyRefused(t, t.ConfigMap("a", "key", "good"), "wanted better")
				eventuallyRefused(t, t.ConfigMap("b", "key", "better"), "wanted good")
				t.Create(trial.ConfigMaps, t.ConfigMap("c")).OK()
			},
		},
		{
			ID: "policy.params.missingAllowed", Promise: "parameterNotFoundAction Allow: a missing parameter is no failure.",
			Run: func(t *trial.T) {
				enforceMissingParam(t, "Allow")
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "good"), "dryRun=All").OK()
			},
		},
		{
			ID:      "policy.params.missingDenied",
			Promise: "parameterNotFoundAction Deny: a missing parameter fails as the failure policy says.",
			Run: func(t *trial.T) {
				enforceMissingParam(t, "Deny")
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "good"), "dryRun=All").Refused(http.StatusUnprocessableEntity, "no params found")
			},
		},
		{
			ID: "policy.afterMutation", Promise: "Validations see the object after all mutations, and come before validating webhooks.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("object.data.key == 'good'", "not good"))
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Install(trial.Mutating("mutating", trial.Answering(func(c *trial.Call) trial.Response {
					return trial.Patched(trial.Add("/data/key", map[string]string{"a": "good", "b": "bad"}[c.Request().Text("name")]))
				})), trial.Validating("validating", trial.Allow()))
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "bad")).OK()
				t.Called("mutating", "validating")
				t.Create(trial.ConfigMaps, t.ConfigMap("b", "key", "good")).Refused(http.StatusUnprocessableEntity, "not good")
				t.Called("mutating")
			},
		},
		{
			ID: "policy.ends", Promise: "A binding that is deleted is no longer enforced.",
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("false", "never"))
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusUnprocessableEntity)
				t.Delete(trial.Bindings, p.Name(), nil).OK()
				t.Eventually("the request is accepted", 20*time.Second, func() string {
					if a := t.Create(trial.ConfigMaps, t.ConfigMap("a")); !a.Succeeded() {
						return fmt.Sprint(a.Code)
					}
					return ""
				})
			},
		},
	}
	for _, r := range []struct {
		reason string
		code   int
	}{{"Forbidden", http.StatusForbidden}, {"Invalid", http.StatusUnprocessableEntity}, {"RequestEntityTooLarge", http.StatusRequestEntityTooLarge}} {
		reason, code := r.reason, r.code
		tests = append(tests, trial.Test{
			ID:      "policy.reason." + reason,
			Promise: fmt.Sprintf("A validation with the reason %s denies with the HTTP status code %d.", reason, code),
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("false", "never").With("reason", reason))
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Equal("reason", reason, t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(code, "denied request: never")["reason"])
			},
		})
	}
	for _, v := range []struct{ name, promise, expression string }{
		{"object", "object is the incoming object.", "object.metadata.name == 'a' && object.data.key == 'value'"},
		{"oldObject", "oldObject is null for a CREATE.", "oldObject == null"},
		{"request", "request has the attributes of the API request.",
			"request.operation == 'CREATE' && request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap' && request.name == 'a' && request.namespace == namespaceObject.metadata.name && request.userInfo.username != ''"},
		{"namespaceObject", "namespaceObject is the namespace of the object, with its labels.",
			"namespaceObject.metadata.labels['" + trial.LabelCase + "'] == namespaceObject.metadata.name"},
		{"authorizer", "authorizer checks permissions of the user of the request.",
			"authorizer.group('').resource('configmaps').namespace(request.namespace).check('create').allowed()"},
	} {
		tests = append(tests, trial.Test{
			ID: "policy.variable." + v.name, Promise: v.promise,
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("!("+v.expression+")", "it holds"))
				t.Enforce(p, t.Binding(p, "Deny"))
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).Refused(http.StatusUnprocessableEntity, "it holds")
			},
		})
	}
	for _, v := range []struct {
		name, promise, path string
		value               any
	}{
		{"syntax", "An expression that doesn't compile is refused.", "spec.validations", []any{trial.Object{"expression": "object.("}}},
		{"type", "An expression must evaluate to a bool.", "spec.validations", []any{trial.Object{"expression": "'text'"}}},
		{"nothing", "A policy has validations or audit annotations.", "spec.validations", []any{}},
		{"constraints", "matchConstraints are required.", "spec.matchConstraints", nil},
		{"reason", "Reasons are Forbidden, Invalid and RequestEntityTooLarge.", "spec.validations",
			[]any{trial.Object{"expression": "true", "reason": "Because"}}},
		{"failurePolicy", "Allowed values of failurePolicy are Ignore and Fail.", "spec.failurePolicy", "Retry"},
		{"variable", "A variable's name is an identifier.", "spec.variables",
			[]any{trial.Object{"name": "not a name", "expression": "true"}}},
		{"params", "params can't be used without paramKind.", "spec.validations",
			[]any{trial.Object{"expression": "params.data.x == 'y'"}}},
	} {
		tests = append(tests, trial.Test{
			ID: "policy.validation." + v.name, Promise: v.promise,
			Run: func(t *trial.T) {
				p := t.Policy("p", validation("true", "never"))
				t.Create(trial.Policies, p, "dryRun=All").OK()
				t.Create(trial.Policies, p.With(v.path, v.value), "dryRun=All").Refused(http.StatusUnprocessableEntity)
			},
		})
	}
	tests = append(append(tests, policyOperations()...), exemptions("policy", false)...)
	for i := range tests {
		tests[i].Source = policyPages + "API reference"
		tests[i].Needs = append(tests[i].Needs, trial.Serves(trial.Policies, trial.Bindings))
		if strings.HasPrefix(tests[i].ID, "policy.params") {
			tests[i].Needs = append(tests[i].Needs, trial.Serves(trial.Definitions))
			tests[i].Cost, tests[i].Timeout = 20*time.Second, 2*time.Minute
		}
	}
	return tests
}

// onOperations returns a copy of a policy for other operations.
func onOperations(policy trial.Object, operations ...string) trial.Object {
	rule := policy.Objects("spec.matchConstraints.resourceRules")[0]
	return policy.With("spec.matchConstraints.resourceRules", []any{rule.With("operations", operations)})
}

// paramTimeout limits the time until a server uses parameters of a new kind, because a server may look for new kinds
// only at intervals.
const paramTimeout = 50 * time.Second

// enforceWithParam defines a custom resource for parameters, and returns the resource. It creates a policy with this
// kind of parameters, and a binding whose paramRef is the argument reference. The policy requires that data.key of a
// ConfigMap, if it exists, equals spec.wanted of the parameter.
func enforceWithParam(t *trial.T, reference trial.Object) trial.Resource {
	limits, _ := define(t, "limits")
	p := t.Policy("p", trial.Object{"expression": "!has(object.data) || !has(object.data.key) || object.data.key == params.spec.wanted", "messageExpression": "'wanted ' + string(params.spec.wanted)"})
	p = p.With("spec.paramKind", trial.Object{"apiVersion": limits.GroupVersion(), "kind": limits.Kind})
	t.Enforce(p, t.Binding(p, "Deny").With("spec.paramRef", reference))
	return limits
}

// enforceMissingParam creates a policy with two bindings. The parameter of one binding doesn't exist, and the parameter
// of the other binding requires the value "good". A refusal by either binding shows that the server has read the
// parameters.
func enforceMissingParam(t *trial.T, action string) {
	limits := enforceWithParam(t, trial.Object{"name": "missing", "namespace": t.Namespace(), "parameterNotFoundAction": action})
	t.Create(limits, limit(t, limits, "there", "good")).OK()
	there := t.Binding(t.Object(trial.Policies, t.Name("p")), "Deny").With("metadata.name", t.Name("there"))
	t.Create(trial.Bindings, there.With("spec.paramRef", trial.Object{"name": "there", "namespace": t.Namespace(), "parameterNotFoundAction": "Deny"})).OK()
	eventuallyRefused(t, t.ConfigMap("a", "key", "bad"), "wanted good", "no params found")
}

// limit returns a parameter for the policy that enforceWithParam creates.
func limit(t *trial.T, limits trial.Resource, name, wanted string) trial.Object {
	return t.Object(limits, name).With("spec", trial.Object{"wanted": wanted})
}

// eventuallyRefused waits until the server refuses a ConfigMap with a message that contains any of the words. It
// repeats the request, because a server may read a parameter only some time after the parameter is stored.
func eventuallyRefused(t *trial.T, o trial.Object, words ...string) {
	t.Eventually("a refusal with "+strings.Join(words, " or "), paramTimeout, func() string {
		a := t.Create(trial.ConfigMaps, o, "dryRun=All")
		for _, w := range words {
			if a.Code == http.StatusUnprocessableEntity && strings.Contains(a.Object.Text("message"), w) {
				return ""
			}
		}
		return fmt.Sprintf("the answer is %d %s", a.Code, a.Object.Text("message"))
	})
}

// onResource returns a copy of a policy for another resource.
func onResource(policy trial.Object, r trial.Resource) trial.Object {
	rule := policy.Objects("spec.matchConstraints.resourceRules")[0].With("apiGroups", []string{r.Group}).With("apiVersions", []string{r.Version}).With("resources", []string{r.Name})
	return policy.With("spec.matchConstraints.resourceRules", []any{rule})
}

// policyOperations has a case for each kind of write and for CONNECT. Each case checks the values of object, oldObject
// and request.options in the expressions of a policy.
func policyOperations() []trial.Test {
	var tests []trial.Test
	sees := func(policy trial.Object) trial.Object {
		return policy.With("spec.validations", []any{trial.Object{"expression": "false", "messageExpression": "'sees ' + request.operation + (object == null ? ', no object' : ', ' + object.kind)" +
			" + (oldObject == null ? ', no oldObject' : ', ' + oldObject.kind) + (has(request.options) && request.options != null ? ', ' + request.options.kind : ', no options')"}})
	}
	for _, w := range writings {
		want := "sees UPDATE, ConfigMap, ConfigMap, UpdateOptions"
		switch {
		case w.creates:
			want = "sees CREATE, ConfigMap, no oldObject, CreateOptions"
		case w.deletes:
			want = "sees DELETE, no object, ConfigMap, DeleteOptions"
		}
		tests = append(tests, trial.Test{
			ID: "policy.operation." + w.name, Promise: "A policy has the same objects and options as a webhook: " + w.name + ".",
			Run: func(t *trial.T) {
				w.prepare(t)
				p := onOperations(sees(t.Policy("p")), "*")
				t.Enforce(p, t.Binding(p, "Warn"))
				a := w.send(t, trial.Object{"made": "second"})
				a.OK()
				warned(t, a, want)
			},
		})
	}
	return append(tests, trial.Test{
		ID:      "policy.operation.connect",
		Promise: "A policy for CONNECT has the options of the connection as object, and neither oldObject nor options.",
		Needs:   []trial.Need{trial.Serves(trial.Pods.Sub("attach"))},
		Run: func(t *trial.T) {
			p := onOperations(sees(t.Policy("p")), "CONNECT")
			p = p.With("spec.matchConstraints.resourceRules", []any{p.Objects("spec.matchConstraints.resourceRules")[0].With("resources", []string{"pods/attach"})})
			t.Enforce(p, t.Binding(p, "Warn"))
			a := t.Do(trial.Request{Verb: http.MethodPost, Path: t.Path(trial.Pods.Sub("attach"), "missing")})
			a.Refused(http.StatusNotFound)
			warned(t, a, "sees CONNECT, PodAttachOptions, no oldObject, no options")
		},
	})
}
