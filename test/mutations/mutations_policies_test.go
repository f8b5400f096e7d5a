package mutations_test

import (
	"net/http"
	"net/url"
	"strings"
)

// policyMutations break promises about ValidatingAdmissionPolicies.
var policyMutations = []mutation{
	{name: "accepts Deny and Warn together", caughtBy: "policy.action.denyAndWarn",
		request: onSpecs("validatingadmissionpolicybindings", func(s object) { s["validationActions"] = []any{"Deny"} })},
	{name: "takes every expression for true", caughtBy: "policy.variable.* policy.variables policy.delete policy.message.default policy.message.fallback", request: eachValidation(func(v object) {
		v["expression"] = "true"
	})},
	{name: "evaluates the first validation alone", caughtBy: "policy.every", request: onSpecs("validatingadmissionpolicies", func(s object) {
		if validations, _ := s["validations"].([]any); len(validations) > 0 {
			s["validations"] = validations[:1]
		}
	})},
	{name: "fails by policies that are to be ignored", caughtBy: "policy.failure.ignore",
		request: onSpecs("validatingadmissionpolicies", func(s object) { s["failurePolicy"] = "Fail" })},
	{name: "matches exact versions of policies alone", caughtBy: "policy.constraints.equivalent",
		request: onSpecs("validatingadmissionpolicies", func(s object) { at(s, "matchConstraints")["matchPolicy"] = "Exact" })},
	{name: "ignores names in rules of policies", caughtBy: "policy.constraints.names",
		request: eachRule(func(rule object) { delete(rule, "resourceNames") })},
	{name: "ignores operations of policies", caughtBy: "policy.constraints.operations",
		request: eachRule(func(rule object) { rule["operations"] = []any{"CREATE", "UPDATE"} })},
	{name: "ignores object selectors of policies", caughtBy: "policy.constraints.objectSelector",
		request: onSpecs("validatingadmissionpolicies", func(s object) { delete(at(s, "matchConstraints"), "objectSelector") })},
	{name: "validates before mutations", caughtBy: "policy.afterMutation",
		review: onResponses(func(_, response object) { delete(response, "patch"); delete(response, "patchType") })},
	{name: "keeps deleted bindings in force", caughtBy: "policy.ends", request: func(r *http.Request) {
		if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/validatingadmissionpolicybindings/") {
			query(http.MethodDelete, func(v url.Values) { v.Set("dryRun", "All") })(r)
		}
	}},
	{name: "refuses for every parameter", caughtBy: "policy.params",
		request: eachValidation(func(v object) { v["expression"] = "false" })},
	{name: "answers with one reason", caughtBy: "policy.reason.Invalid",
		request: eachValidation(func(v object) { v["reason"] = "Forbidden" })},
	{name: "accepts any policy", caughtBy: "policy.validation.*", request: onSpecs("validatingadmissionpolicies", func(s object) {
		delete(s, "variables")
		s["failurePolicy"], s["validations"] = "Fail", []any{object{"expression": "true"}}
		s["matchConstraints"] = object{"resourceRules": []any{object{
			"operations": []any{"CREATE"}, "apiGroups": []any{"none.example.com"}, "apiVersions": []any{"v1"}, "resources": []any{"none"},
		}}}
	})},
	{name: "enforces policies without a binding", caughtBy: "policy.unbound",
		also: bindsEach("validatingadmissionpolicies", "ValidatingAdmissionPolicyBinding", object{"validationActions": []any{"Deny"}})},
	{name: "refuses for every object of a selector", caughtBy: "policy.params.ofNamespace policy.params.selected",
		request: eachValidation(func(v object) { v["expression"] = "false" })},
	{name: "refuses for missing parameters", caughtBy: "policy.params.missingAllowed",
		request: onSpecs("validatingadmissionpolicybindings", func(s object) { at(s, "paramRef")["parameterNotFoundAction"] = "Deny" })},
	{name: "calls each operation CONNECTION in policies", caughtBy: "policy.operation.*", request: eachValidation(func(v object) {
		if text, is := v["messageExpression"].(string); is {
			v["messageExpression"] = strings.ReplaceAll(text, "request.operation", "'CONNECTION'")
		}
	})},
	{name: "judges policies by policies", caughtBy: "policy.exempt mutatingPolicy.exempt", request: onBodies("POST", "admissionpolicies", func(o object) {
		if strings.HasSuffix(name(o), "-other") {
			delete(o, "spec")
		}
	})},
	{name: "judges reviews by policies", caughtBy: "policy.exempt.reviews mutatingPolicy.exempt.reviews", response: answeredBy("POST", "/selfsubjectrulesreviews", func(r *http.Response) {
		r.StatusCode = http.StatusUnprocessableEntity
	})},
	{name: "warns instead of denying", caughtBy: "policy.denies",
		request: onSpecs("validatingadmissionpolicybindings", func(s object) { s["validationActions"] = []any{"Warn"} })},
	{name: "denies instead of warning", caughtBy: "policy.action.warn policy.action.audit policy.bindings",
		request: onSpecs("validatingadmissionpolicybindings", func(s object) { s["validationActions"] = []any{"Deny"} })},
	{name: "ignores match conditions of policies", caughtBy: "policy.matchConditions policy.matchConditions.error",
		request: onSpecs("validatingadmissionpolicies", func(s object) { delete(s, "matchConditions") })},
	{name: "ignores errors of policies", caughtBy: "policy.failure.fail",
		request: onSpecs("validatingadmissionpolicies", func(s object) { s["failurePolicy"] = "Ignore" })},
	{name: "ignores matchResources of bindings", caughtBy: "policy.binding.matchResources",
		request: onSpecs("validatingadmissionpolicybindings", func(s object) { delete(s, "matchResources") })},
	{name: "ignores reasons of validations", caughtBy: "policy.reason.Forbidden policy.reason.RequestEntityTooLarge",
		request: onValidations("reason")},
	{name: "ignores message expressions", caughtBy: "policy.message.expression", request: onValidations("messageExpression")},
	{name: "ignores excluded resources", caughtBy: "policy.constraints.exclude",
		request: onSpecs("validatingadmissionpolicies", func(s object) { delete(at(s, "matchConstraints"), "excludeResourceRules") })},
	{name: "allows missing parameters", caughtBy: "policy.params.missingDenied",
		request: onSpecs("validatingadmissionpolicybindings", func(s object) { at(s, "paramRef")["parameterNotFoundAction"] = "Allow" })},
}

// eachValidation returns a mutation that changes the validations of ValidatingAdmissionPolicies.
func eachValidation(change func(validation object)) func(*http.Request) {
	return onSpecs("validatingadmissionpolicies", func(s object) {
		validations, _ := s["validations"].([]any)
		for _, v := range validations {
			change(v.(object))
		}
	})
}

// eachRule returns a mutation that changes the rules of ValidatingAdmissionPolicies.
func eachRule(change func(rule object)) func(*http.Request) {
	return onSpecs("validatingadmissionpolicies", func(s object) {
		rules, _ := at(s, "matchConstraints")["resourceRules"].([]any)
		for _, rule := range rules {
			change(rule.(object))
		}
	})
}

// onValidations returns a mutation that removes a field of policies' validations.
func onValidations(name string) func(*http.Request) {
	return onSpecs("validatingadmissionpolicies", func(s object) {
		validations, _ := s["validations"].([]any)
		for _, v := range validations {
			delete(v.(object), name)
		}
	})
}
