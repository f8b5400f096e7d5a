package conformance_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// matchingMutations are changes by which a proxy makes a good server appear to call the wrong webhooks, to call
// webhooks in the wrong order or with wrong reviews, or to read webhook configurations wrongly.
var matchingMutations = []mutation{
	// These mutations are about the rules, selectors and match conditions of webhooks.
	{name: "ignores versions", caughtBy: "match.rule.version.other", request: ruled("apiVersions", []any{"*"})},
	{name: "knows no wildcards", request: onRules(func(rule object) {
		for field, none := range map[string]string{"operations": "CREATE", "apiGroups": "none.example.com", "apiVersions": "v9", "resources": "none"} {
			values, _ := rule[field].([]any)
			for i := range values {
				if text, is := values[i].(string); is && strings.Contains(text, "*") {
					values[i] = none
				}
			}
		}
	}), caughtBy: "match.rule.operation.all match.rule.group.all match.rule.version.all match.rule.everything.* match.rule.subresource.ofResource match.rule.subresource.ofAll match.rule.subresource.ofAllNotOther"},
	{name: "knows no scope of all resources", caughtBy: "match.rule.scope.all", request: ruled("scope", "Cluster")},
	{name: "counts namespaces as resources with a namespace", caughtBy: "match.rule.scope.namespace", request: onRules(func(rule object) {
		if rule["scope"] == "Cluster" {
			rule["scope"] = "Namespaced"
		}
	})},
	{name: "tries the first rule alone", caughtBy: "match.rule.any match.rule.notMixed", request: onWebhooks(func(w object) {
		if rules, _ := w["rules"].([]any); len(rules) > 0 {
			w["rules"] = rules[:1]
		}
	})},
	{name: "sends everything to a webhook without rules", caughtBy: "match.rule.empty", request: defaulted("rules", []any{object{
		"operations": []any{"*"}, "apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "resources": []any{"*"}, "scope": "Namespaced",
	}})},
	{name: "selects no objects", caughtBy: "match.objectSelector.create match.objectSelector.updateNew match.objectSelector.sent", request: onWebhooks(func(w object) {
		at(w, "objectSelector")["matchLabels"] = object{"no": "object"}
	})},
	{name: "selects no resources without a namespace", caughtBy: "match.namespaceSelector.clusterScope", review: swallow(func(r object) bool {
		return at(r, "resource")["resource"] == "clusterroles"
	})},
	{name: "takes every condition for false", caughtBy: "match.conditions.all", request: onWebhooks(func(w object) {
		conditions, _ := w["matchConditions"].([]any)
		for _, c := range conditions {
			c.(object)["expression"] = "false"
		}
	})},
	{name: "converts to the version of the first rule", caughtBy: "match.policy.exactFirst", request: onRules(func(rule object) { rule["apiVersions"] = []any{"v1"} })},
	{name: "takes resources of one name for equivalent", caughtBy: "match.policy.otherGroup", request: onRules(func(rule object) {
		rule["apiGroups"], rule["apiVersions"] = []any{"*"}, []any{"*"}
	})},

	{name: "converts to the version of the last rule", caughtBy: "match.policy.firstRule", request: onWebhooks(func(w object) {
		rules, _ := w["rules"].([]any)
		slices.Reverse(rules)
	})},
	{name: "converts for rules of all versions", caughtBy: "match.policy.allVersions", request: onRules(func(rule object) { rule["apiVersions"] = []any{"v1"} })},
	{name: "knows no equivalent versions in all groups", caughtBy: "match.policy.anyGroup", request: onRules(func(rule object) {
		if groups, _ := rule["apiGroups"].([]any); len(groups) == 1 && groups[0] == "*" {
			rule["apiGroups"] = []any{"none.example.com"}
		}
	})},
	{name: "finds equivalent versions in rules for other operations", caughtBy: "match.policy.wholeRule", request: ruled("operations", []any{"*"})},
	{name: "forgets changes when it converts", caughtBy: "match.policy.chain", review: onReviews(func(r object) {
		if version, _ := at(r, "object")["apiVersion"].(string); strings.HasSuffix(version, "/v2") {
			at(r, "object", "spec")["trail"] = ""
		}
	})},
	{name: "forgets changes before a webhook that it skips", caughtBy: "match.policy.skipped", review: onReviews(func(r object) { at(r, "object", "spec")["size"] = 1 })},
	{name: "doesn't convert patches back", caughtBy: "match.policy.patchedForward match.policy.patchedBack match.policy.events conversion.patchedBack", review: onResponses(func(request, response object) {
		if at(request, "kind")["version"] != at(request, "requestKind")["version"] || at(request, "kind")["group"] != at(request, "requestKind")["group"] {
			delete(response, "patch")
			delete(response, "patchType")
		}
	})},

	// The order and the phases.
	{name: "reviews a changed object once", caughtBy: "repeat.update repeat.json repeat.merge repeat.strategic repeat.apply repeat.delete repeat.deletecollection", review: swallow(func(r object) bool {
		return at(r, "oldObject", "metadata", "labels")["meddler"] != nil
	})},
	{name: "ignores the version of a request whose object changes", caughtBy: "repeat.not.*", request: onBodies("PUT PATCH DELETE", "configmaps", func(o object) {
		delete(at(o, "metadata"), "resourceVersion")
		delete(o, "preconditions")
	})},
	{name: "reviews objects in namespaces that don't exist", caughtBy: "order.plugins.namespace", request: func(r *http.Request) {
		r.URL.Path = strings.Replace(r.URL.Path, "-missing/configmaps", "/configmaps", 1)
	}},
	{name: "calls webhooks before the plugins", caughtBy: "order.plugins.mutating", review: onReviews(func(r object) { delete(at(r, "object", "spec"), "priority") })},
	{name: "judges pods before the webhooks", caughtBy: "order.plugins.podSecurity order.plugins.limitRanger", review: onResponses(func(_, response object) {
		delete(response, "patch")
		delete(response, "patchType")
	})},
	{name: "charges objects that webhooks refuse", caughtBy: "order.plugins.quota", response: answeredBy("GET", "/resourcequotas/", onAnswers(http.MethodGet, func(o object) {
		at(o, "status", "used")["services"] = "1"
	}))},
	{name: "repairs metadata without a warning", caughtBy: "order.repaired.*", response: warningHeaders(func(int, []string) []string { return nil })},
	{name: "reviews the object as the client has sent it", review: onReviews(func(r object) { at(r, "object", "data")["trail"] = "" }),
		caughtBy: "order.phases.create order.phases.applyCreates order.phases.update order.phases.json order.phases.merge order.phases.strategic order.phases.apply order.finalState"},
	{name: "sends no old object of deletions", caughtBy: "order.phases.delete order.phases.deletecollection", review: without("oldObject")},
	{name: "calls webhooks in the reverse order", caughtBy: "order.withinConfiguration", request: onBodies("POST", "webhookconfigurations", func(o object) {
		if webhooks, _ := o["webhooks"].([]any); len(webhooks) > 1 {
			slices.Reverse(webhooks[1:])
		}
	})},
	{name: "calls validating webhooks one after the other", caughtBy: "order.validatingInParallel", review: func(next http.Handler) http.Handler {
		var one sync.Mutex
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			one.Lock()
			defer one.Unlock()
			next.ServeHTTP(w, r)
		})
	}},
	{name: "reviews generations of clients", caughtBy: "order.preparation.*", review: onReviews(func(r object) { at(r, "object", "metadata")["generation"] = 77 })},
	{name: "reviews statuses of webhooks", caughtBy: "order.status", review: onReviews(func(r object) { r["object"].(object)["status"] = object{"observedGeneration": 7} })},
	{name: "reviews requests that it can't decode", caughtBy: "order.noReviewOfBadRequests", request: func(r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/configmaps") {
			body := readAll(r.Body)
			if string(body) == `{"kind":` {
				body = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"decoded"}}`)
			}
			setRequestBody(r, body)
		}
	}},
	{name: "reinvokes by default", caughtBy: "reinvocation.default", request: onConfigurations(func(webhooks []object) {
		for _, w := range webhooks[1:] {
			w["reinvocationPolicy"] = "IfNeeded"
		}
	})},

	// The reviews.
	{name: "calls subresources pods", caughtBy: "review.binding review.eviction review.token", review: onReviews(func(r object) { at(r, "kind")["kind"] = "Pod" })},
	{name: "drops managed fields in reviews", caughtBy: "review.managedFields", review: onReviews(func(r object) { delete(at(r, "object", "metadata"), "managedFields") })},
	{name: "calls an apply that creates an update", caughtBy: "patch.applyCreates", review: onReviews(func(r object) { r["operation"] = "UPDATE" })},
	{name: "creates objects by patches", caughtBy: "patch.missing", request: func(r *http.Request) {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/configmaps/missing") {
			r.Method, r.URL.Path = http.MethodPost, strings.TrimSuffix(r.URL.Path, "/missing")
			r.Header.Set("Content-Type", "application/json")
			setRequestBody(r, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"missing"}}`))
		}
	}},
	{name: "ignores tests of JSON patches", caughtBy: "patch.test", request: func(r *http.Request) {
		if r.Header.Get("Content-Type") == "application/json-patch+json" {
			setRequestBody(r, []byte(strings.Replace(string(readAll(r.Body)), `"value":"other"`, `"value":"value"`, 1)))
		}
	}},
	{name: "reviews collections without a namespace as a whole", caughtBy: "deletecollection.clusterScope", review: swallow(func(r object) bool {
		return strings.HasSuffix(name(at(r, "oldObject")), "-one")
	})},
	{name: "drops options of deleted collections", caughtBy: "deletecollection.options", review: without("options")},
	{name: "reviews no status of custom resources", caughtBy: "custom.every.status", review: swallow(func(r object) bool { return r["subResource"] == "status" })},
	{name: "persists dry runs in the body of a delete", caughtBy: "dryRun.persistsNothing.deleteOptions", request: onBodies("DELETE", "configmaps", func(o object) { delete(o, "dryRun") })},
	{name: "accepts other values of dryRun", caughtBy: "dryRun.invalid", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "writes no audit log", caughtBy: "dryRun.audited audit.*", unaudited: true},
	{name: "counts no rejections", caughtBy: "metrics.rejection.*", request: func(r *http.Request) { r.Header.Del("Accept-Encoding") }, response: answeredBy("GET", "/metrics", func(r *http.Response) {
		setBody(r, []byte(strings.ReplaceAll(string(readAll(r.Body)), "apiserver_admission_webhook_rejection_count", "rejections")))
	})},

	// These mutations change the versions of reviews, and the handling of webhooks' responses.
	{name: "accepts an answer in another version", caughtBy: "version.answeredInAnother", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(edited(answer.Body.Bytes(), func(review object) { review["apiVersion"] = "admission.k8s.io/v1" }))
		})
	}},
	{name: "sends fewer fields in v1beta1", caughtBy: "version.v1beta1.content", review: onBodiesOfReviews(func(review object) {
		if review["apiVersion"] == "admission.k8s.io/v1beta1" {
			delete(at(review, "request"), "requestKind")
		}
	})},
	{name: "ignores patches in v1beta1", caughtBy: "version.v1beta1.response", review: onResponses(func(_, response object) { delete(response, "patch"); delete(response, "patchType") })},
	{name: "requires no review versions", caughtBy: "version.required", request: defaulted("admissionReviewVersions", []any{"v1"})},
	{name: "answers refusals with success", caughtBy: "response.denied.noSuccess", response: answeredBy("POST", "/configmaps", func(r *http.Response) { r.StatusCode = http.StatusOK })},
	{name: "applies patches of validating webhooks", caughtBy: "response.patch.validating",
		review:   onResponses(func(_, response object) { delete(response, "patch"); delete(response, "patchType") }),
		response: onAnswers(http.MethodGet, func(o object) { at(o, "data")["added"] = "yes" })},
	{name: "refuses unknown fields of responses", caughtBy: "response.unknownFields", review: onResponses(func(_, response object) {
		if response["unheardOf"] != nil {
			response["allowed"] = "unknown field"
		}
	})},
	{name: "never ends a call", caughtBy: "timeout.cancelled", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context())))
		})
	}},
	{name: "sends any number of warnings", caughtBy: "warning.most", response: warningHeaders(func(_ int, warnings []string) []string {
		return append(warnings, slices.Repeat([]string{`299 - "` + strings.Repeat("w", 200) + `"`}, 60)...)
	})},

	// The configurations.
	{name: "selects no namespaces by default", caughtBy: "configuration.default.namespaceSelector", request: defaulted("namespaceSelector", object{"matchLabels": object{"no": "namespace"}})},
	{name: "selects no objects by default", caughtBy: "configuration.default.objectSelector", request: defaulted("objectSelector", object{"matchLabels": object{"no": "object"}})},
	{name: "has another default scope", caughtBy: "configuration.default.scope configuration.v1beta1.default.scope", request: onRules(func(rule object) {
		if rule["scope"] == nil {
			rule["scope"] = "Namespaced"
		}
	})},
	{name: "has the defaults of v1 in v1beta1", request: onWebhooks(func(w object) {
		for field, value := range map[string]any{"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10, "sideEffects": "None", "admissionReviewVersions": []any{"v1"}} {
			if w[field] == nil {
				w[field] = value
			}
		}
	}), caughtBy: "configuration.v1beta1.default.failurePolicy configuration.v1beta1.default.matchPolicy configuration.v1beta1.default.timeoutSeconds configuration.v1beta1.default.sideEffects configuration.v1beta1.default.admissionReviewVersions"},
	{name: "has other defaults in v1beta1", request: onWebhooks(func(w object) {
		selector := object{"matchLabels": object{"no": "object"}}
		for field, value := range map[string]any{"reinvocationPolicy": "IfNeeded", "objectSelector": selector, "namespaceSelector": selector} {
			if w[field] == nil {
				w[field] = value
			}
		}
		if service := at(w, "clientConfig", "service"); service["port"] == nil {
			service["port"] = 8443
		}
	}), caughtBy: "configuration.v1beta1.default.reinvocationPolicy configuration.v1beta1.default.objectSelector configuration.v1beta1.default.namespaceSelector configuration.v1beta1.default.servicePort"},
	{name: "calls webhooks with side effects in dry runs", caughtBy: "configuration.v1beta1.dryRun.*", request: field("sideEffects", "None")},
	{name: "accepts any configuration", request: onBodies("POST", "webhookconfigurations", func(o object) {
		at(o, "metadata")["name"] = "valid"
		o["webhooks"] = []any{object{
			"name": "valid.example.com", "clientConfig": object{"url": "https://example.com/"}, "sideEffects": "None", "admissionReviewVersions": []any{"v1"},
		}}
	}), caughtBy: "configuration.validation.client.* configuration.validation.conditions.* configuration.validation.failurePolicy configuration.validation.groups.all configuration.validation.matchPolicy " +
		"configuration.validation.metadata.name configuration.validation.name.* configuration.validation.namespaceSelector configuration.validation.objectSelector configuration.validation.operations.* " +
		"configuration.validation.reinvocationPolicy configuration.validation.resources.* configuration.validation.service.name configuration.validation.service.path configuration.validation.service.port.more " +
		"configuration.validation.service.port.zero configuration.validation.sideEffects.missing configuration.validation.sideEffects.unknown configuration.validation.url.* configuration.validation.versions.all"},
	{name: "refuses the shortest and the longest timeout", caughtBy: "configuration.validation.timeout.one configuration.validation.timeout.thirty", request: onWebhooks(func(w object) {
		if w["timeoutSeconds"] == 1.0 || w["timeoutSeconds"] == 30.0 {
			w["timeoutSeconds"] = 0
		}
	})},
	{name: "refuses webhooks with side effects outside of dry runs", caughtBy: "configuration.validation.sideEffects.noneOnDryRun", request: ifIs("sideEffects", "NoneOnDryRun", "Some")},
	{name: "refuses other ports of services", caughtBy: "configuration.validation.service.port.custom", request: onServices(func(s object) { s["port"] = 0 })},
}

// name returns the name of an object, or "".
func name(o object) string {
	text, _ := at(o, "metadata")["name"].(string)
	return text
}
