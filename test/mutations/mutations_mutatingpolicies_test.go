package mutations_test

import (
	"net/http"
	"strings"
)

// mutatingPolicyMutations break promises about MutatingAdmissionPolicies.
var mutatingPolicyMutations = []mutation{
	{name: "mutates nothing", request: onSpecs("mutatingadmissionpolicies", func(s object) {
		s["mutations"] = []any{object{"patchType": "JSONPatch", "jsonPatch": object{"expression": `[JSONPatch{op: "test", path: "/kind", value: object.kind}]`}}}
	}), caughtBy: "mutatingPolicy.jsonPatch mutatingPolicy.jsonPatch.escapeKey mutatingPolicy.apply mutatingPolicy.variables mutatingPolicy.sequence mutatingPolicy.beforeWebhooks mutatingPolicy.failure.fail mutatingPolicy.validation"},
	{name: "fails by mutations that are to be ignored", caughtBy: "mutatingPolicy.failure.ignore",
		request: onSpecs("mutatingadmissionpolicies", func(s object) { s["failurePolicy"] = "Fail" })},
	{name: "reinvokes mutating policies always", caughtBy: "mutatingPolicy.reinvocation.Never",
		request: onSpecs("mutatingadmissionpolicies", func(s object) { s["reinvocationPolicy"] = "IfNeeded" })},
	{name: "mutates by policies without a binding", caughtBy: "mutatingPolicy.unbound",
		also: bindsEach("mutatingadmissionpolicies", "MutatingAdmissionPolicyBinding", object{})},
	{name: "mutates by other parameters", caughtBy: "mutatingPolicy.params",
		request: eachMutation(func(expression string) string { return strings.ReplaceAll(expression, "params.spec.wanted", "'other'") })},
	{name: "replaces lists by those of policies", caughtBy: "mutatingPolicy.apply.items", response: answeredBy("POST", "/pods", onAnswers(http.MethodPost, func(o object) {
		if containers, _ := at(o, "spec")["containers"].([]any); len(containers) > 1 {
			at(o, "spec")["containers"] = containers[1:]
		}
	}))},
	{name: "replaces specs by those of policies", caughtBy: "mutatingPolicy.apply.custom",
		response: answeredBy("POST", "/things", onAnswers(http.MethodPost, func(o object) { delete(at(o, "spec"), "color") }))},
	{name: "mutates deletions", caughtBy: "mutatingPolicy.delete",
		response: answeredBy("DELETE", "/configmaps/a", func(r *http.Response) { r.StatusCode = http.StatusInternalServerError })},
	{name: "accepts mutations of deletions", caughtBy: "mutatingPolicy.validation.delete", request: onSpecs("mutatingadmissionpolicies", func(s object) {
		rules, _ := at(s, "matchConstraints")["resourceRules"].([]any)
		for _, rule := range rules {
			rule.(object)["operations"] = []any{"CREATE"}
		}
	})},
	{name: "doesn't reinvoke mutating policies",
		caughtBy: "mutatingPolicy.reinvocation.IfNeeded mutatingPolicy.reinvocation.policies",
		request:  onSpecs("mutatingadmissionpolicies", func(s object) { s["reinvocationPolicy"] = "Never" })},
	{name: "ignores match conditions of mutating policies", caughtBy: "mutatingPolicy.matchConditions",
		request: onSpecs("mutatingadmissionpolicies", func(s object) { delete(s, "matchConditions") })},
}

// eachMutation returns a mutation that changes the expressions of mutating policies.
func eachMutation(change func(expression string) string) func(*http.Request) {
	return onSpecs("mutatingadmissionpolicies", func(s object) {
		mutations, _ := s["mutations"].([]any)
		for _, m := range mutations {
			for _, patch := range []string{"applyConfiguration", "jsonPatch"} {
				if expression, is := at(m.(object), patch)["expression"].(string); is {
					at(m.(object), patch)["expression"] = change(expression)
				}
			}
		}
	})
}
