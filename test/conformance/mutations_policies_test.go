package conformance_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
)

// policyMutations are changes by which a proxy makes a good server appear to enforce policies wrongly.
var policyMutations = []mutation{
	{name: "accepts Deny and Warn together", caughtBy: "policy.action.denyAndWarn", request: onSpecs("validatingadmissionpolicybindings", func(s object) { s["validationActions"] = []any{"Deny"} })},
	{name: "takes every expression for true", caughtBy: "policy.variable.* policy.variables policy.delete policy.message.default policy.message.fallback", request: eachValidation(func(v object) {
		v["expression"] = "true"
	})},
	{name: "evaluates the first validation alone", caughtBy: "policy.every", request: onSpecs("validatingadmissionpolicies", func(s object) {
		if validations, _ := s["validations"].([]any); len(validations) > 0 {
			s["validations"] = validations[:1]
		}
	})},
	{name: "fails by policies that are to be ignored", caughtBy: "policy.failure.ignore", request: onSpecs("validatingadmissionpolicies", func(s object) { s["failurePolicy"] = "Fail" })},
	{name: "matches exact versions of policies alone", caughtBy: "policy.constraints.equivalent", request: onSpecs("validatingadmissionpolicies", func(s object) { at(s, "matchConstraints")["matchPolicy"] = "Exact" })},
	{name: "ignores names in rules of policies", caughtBy: "policy.constraints.names", request: eachRule(func(rule object) { delete(rule, "resourceNames") })},
	{name: "ignores operations of policies", caughtBy: "policy.constraints.operations", request: eachRule(func(rule object) { rule["operations"] = []any{"CREATE", "UPDATE"} })},
	{name: "ignores object selectors of policies", caughtBy: "policy.constraints.objectSelector", request: onSpecs("validatingadmissionpolicies", func(s object) { delete(at(s, "matchConstraints"), "objectSelector") })},
	{name: "validates before mutations", caughtBy: "policy.afterMutation", review: onResponses(func(_, response object) { delete(response, "patch"); delete(response, "patchType") })},
	{name: "keeps deleted bindings in force", caughtBy: "policy.ends", request: func(r *http.Request) {
		if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/validatingadmissionpolicybindings/") {
			query(http.MethodDelete, func(v url.Values) { v.Set("dryRun", "All") })(r)
		}
	}},
	{name: "refuses for every parameter", caughtBy: "policy.params", request: eachValidation(func(v object) { v["expression"] = "false" })},
	{name: "answers with one reason", caughtBy: "policy.reason.Invalid", request: eachValidation(func(v object) { v["reason"] = "Forbidden" })},
	{name: "accepts any policy", caughtBy: "policy.validation.*", request: onSpecs("validatingadmissionpolicies", func(s object) {
		delete(s, "variables")
		s["failurePolicy"], s["validations"] = "Fail", []any{object{"expression": "true"}}
		s["matchConstraints"] = object{"resourceRules": []any{object{
			"operations": []any{"CREATE"}, "apiGroups": []any{"none.example.com"}, "apiVersions": []any{"v1"}, "resources": []any{"none"},
		}}}
	})},
	{name: "mutates nothing", request: onSpecs("mutatingadmissionpolicies", func(s object) {
		s["mutations"] = []any{object{"patchType": "JSONPatch", "jsonPatch": object{"expression": `[JSONPatch{op: "test", path: "/kind", value: object.kind}]`}}}
	}), caughtBy: "mutatingPolicy.jsonPatch mutatingPolicy.jsonPatch.escapeKey mutatingPolicy.apply mutatingPolicy.variables mutatingPolicy.sequence mutatingPolicy.beforeWebhooks mutatingPolicy.failure.fail mutatingPolicy.validation"},
	{name: "fails by mutations that are to be ignored", caughtBy: "mutatingPolicy.failure.ignore", request: onSpecs("mutatingadmissionpolicies", func(s object) { s["failurePolicy"] = "Fail" })},
	{name: "reinvokes mutating policies always", caughtBy: "mutatingPolicy.reinvocation.Never", request: onSpecs("mutatingadmissionpolicies", func(s object) { s["reinvocationPolicy"] = "IfNeeded" })},

	{name: "enforces policies without a binding", caughtBy: "policy.unbound", also: bindsEach("validatingadmissionpolicies", "ValidatingAdmissionPolicyBinding", object{"validationActions": []any{"Deny"}})},
	{name: "mutates by policies without a binding", caughtBy: "mutatingPolicy.unbound", also: bindsEach("mutatingadmissionpolicies", "MutatingAdmissionPolicyBinding", object{})},
	{name: "refuses for every object of a selector", caughtBy: "policy.params.ofNamespace policy.params.selected", request: eachValidation(func(v object) { v["expression"] = "false" })},
	{name: "refuses for missing parameters", caughtBy: "policy.params.missingAllowed", request: onSpecs("validatingadmissionpolicybindings", func(s object) { at(s, "paramRef")["parameterNotFoundAction"] = "Deny" })},
	{name: "mutates by other parameters", caughtBy: "mutatingPolicy.params", request: eachMutation(func(expression string) string { return strings.ReplaceAll(expression, "params.spec.wanted", "'other'") })},
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
	{name: "replaces lists by those of policies", caughtBy: "mutatingPolicy.apply.items", response: answeredBy("POST", "/pods", onAnswers(http.MethodPost, func(o object) {
		if containers, _ := at(o, "spec")["containers"].([]any); len(containers) > 1 {
			at(o, "spec")["containers"] = containers[1:]
		}
	}))},
	{name: "replaces specs by those of policies", caughtBy: "mutatingPolicy.apply.custom", response: answeredBy("POST", "/things", onAnswers(http.MethodPost, func(o object) { delete(at(o, "spec"), "color") }))},
	{name: "mutates deletions", caughtBy: "mutatingPolicy.delete", response: answeredBy("DELETE", "/configmaps/a", func(r *http.Response) { r.StatusCode = http.StatusInternalServerError })},
	{name: "accepts mutations of deletions", caughtBy: "mutatingPolicy.validation.delete", request: onSpecs("mutatingadmissionpolicies", func(s object) {
		rules, _ := at(s, "matchConstraints")["resourceRules"].([]any)
		for _, rule := range rules {
			rule.(object)["operations"] = []any{"CREATE"}
		}
	})},
}

// conversionMutations make a good server convert custom resources wrongly.
var conversionMutations = []mutation{
	{name: "guesses conversions while the webhook is down", caughtBy: "conversion.down.* conversion.beforeAdmission.fails", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			request := object{}
			editBody(r, func(review object) { request = at(review, "request") })
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			if answer.Code == http.StatusServiceUnavailable {
				response := object{"uid": request["uid"], "result": object{"status": "Success"}}
				converted(request, response)
				writeJSON(w, object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response})
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		})
	}},
	{name: "sends conversions of another kind", caughtBy: "conversion.request", review: onBodiesOfReviews(func(review object) { review["kind"] = "Conversion" })},
	{name: "repairs wrong conversions", caughtBy: "conversion.count conversion.version conversion.name", review: onResponses(converted)},
	{name: "converts without the webhook", caughtBy: "conversion.closed", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			request := object{}
			editBody(r, func(review object) { request = at(review, "request") })
			response := object{"uid": request["uid"], "result": object{"status": "Success"}}
			converted(request, response)
			writeJSON(w, object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response})
		})
	}},
	{name: "answers in the other version", caughtBy: "conversion.stored conversion.list", response: onAnswers(http.MethodGet, func(o object) {
		for _, item := range items(o) {
			if version, _ := item["apiVersion"].(string); strings.HasPrefix(version, "conformance-") {
				item["apiVersion"] = otherVersion(version)
			}
		}
	})},
	{name: "reviews objects in the version of the request", caughtBy: "conversion.beforeAdmission", review: onReviews(func(r object) {
		if version, _ := at(r, "object")["apiVersion"].(string); version != "" {
			at(r, "object")["apiVersion"] = otherVersion(version)
		}
	})},
}

// converted converts the objects in a ConversionReview's request: it changes only the version.
func converted(request, response object) {
	objects, _ := request["objects"].([]any)
	for _, o := range objects {
		o.(object)["apiVersion"] = request["desiredAPIVersion"]
	}
	response["convertedObjects"] = objects
}

// otherVersion returns an apiVersion with v2 in place of v1, or with v1 in place of v2.
func otherVersion(apiVersion string) string {
	if group, isFirst := strings.CutSuffix(apiVersion, "/v1"); isFirst {
		return group + "/v2"
	}
	return strings.TrimSuffix(apiVersion, "/v2") + "/v1"
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

// bindsEach returns a mutation that creates a binding for each policy of a resource whose name ends with "-p".
func bindsEach(resource, kind string, spec object) func(*http.Request) *http.Request {
	path := "/apis/admissionregistration.k8s.io/v1/" + strings.ToLower(kind) + "s"
	return alsoPosts(resource, path, func(policy object) object {
		if !strings.HasSuffix(name(policy), "-p") {
			return nil
		}
		bound := object{"policyName": name(policy)}
		maps.Copy(bound, spec)
		return object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": object{"name": name(policy)}, "spec": bound}
	})
}
