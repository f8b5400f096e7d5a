package mutations_test

import (
	"net/http"
	"strings"
)

// configurationMutations break promises about webhook configurations, their defaults and their validation.
var configurationMutations = []mutation{
	{name: "replaces the list of webhooks", caughtBy: "configuration.merged.*", request: func(r *http.Request) {
		if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "webhookconfigurations") {
			r.Header.Set("Content-Type", "application/merge-patch+json")
			r.URL.RawQuery = ""
		}
	}},
	{name: "selects no namespaces by default", caughtBy: "configuration.default.namespaceSelector",
		request: defaulted("namespaceSelector", object{"matchLabels": object{"no": "namespace"}})},
	{name: "selects no objects by default", caughtBy: "configuration.default.objectSelector",
		request: defaulted("objectSelector", object{"matchLabels": object{"no": "object"}})},
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
	{name: "calls webhooks with side effects in dry runs", caughtBy: "configuration.v1beta1.dryRun.*",
		request: field("sideEffects", "None")},
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
	{name: "refuses webhooks with side effects outside of dry runs",
		caughtBy: "configuration.validation.sideEffects.noneOnDryRun",
		request:  ifIs("sideEffects", "NoneOnDryRun", "Some")},
	{name: "refuses other ports of services", caughtBy: "configuration.validation.service.port.custom",
		request: onServices(func(s object) { s["port"] = 0 })},
	{name: "defaults failurePolicy to Ignore", caughtBy: "configuration.default.failurePolicy",
		request: defaulted("failurePolicy", "Ignore")},
	{name: "defaults matchPolicy to Exact", caughtBy: "configuration.default.matchPolicy", request: defaulted("matchPolicy", "Exact")},
	{name: "defaults timeoutSeconds to 30", caughtBy: "configuration.default.timeoutSeconds", request: defaulted("timeoutSeconds", 30)},
	{name: "defaults reinvocationPolicy to IfNeeded", caughtBy: "configuration.default.reinvocationPolicy",
		request: defaulted("reinvocationPolicy", "IfNeeded")},
	{name: "defaults ports of services to 8443", caughtBy: "configuration.default.servicePort", request: onWebhooks(func(w object) {
		if service := at(w, "clientConfig", "service"); service["port"] == nil {
			service["port"] = 8443
		}
	})},
	{name: "requires unique names in v1beta1", caughtBy: "configuration.v1beta1.duplicateNames", request: func(r *http.Request) {
		r.URL.Path = strings.Replace(r.URL.Path, "admissionregistration.k8s.io/v1beta1", "admissionregistration.k8s.io/v1", 1)
	}},
	{name: "loses timeouts of configurations", caughtBy: "configuration.v1beta1.roundTrip", response: onAnswers(http.MethodGet, func(o object) {
		webhooks, _ := o["webhooks"].([]any)
		for _, w := range webhooks {
			delete(w.(object), "timeoutSeconds")
		}
	})},
	{name: "accepts any timeout",
		caughtBy: "configuration.validation.timeout.more configuration.validation.timeout.zero",
		request:  field("timeoutSeconds", 30)},
	{name: "accepts any side effects", caughtBy: "configuration.validation.sideEffects.some", request: field("sideEffects", "None")},
	{name: "accepts fragments", caughtBy: "configuration.validation.url.fragment",
		request: onWebhooks(func(w object) { at(w, "clientConfig")["url"] = "https://example.com/" })},
	{name: "accepts any scope", caughtBy: "configuration.validation.scope", request: ruled("scope", "*")},
	{name: "accepts conditions that don't compile", caughtBy: "configuration.validation.conditions.syntax",
		request: unsupported("matchConditions")},
}
