package mutations_test

import (
	"net/http"
	"slices"
	"strings"
)

// matchingMutations break promises about the choice of webhooks by rules, selectors, match conditions and matchPolicy.
var matchingMutations = []mutation{
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
	{name: "selects no objects", caughtBy: "match.objectSelector.sent", request: onWebhooks(func(w object) {
		at(w, "objectSelector")["matchLabels"] = object{"no": "object"}
	})},
	{name: "takes every condition for false", caughtBy: "match.conditions.all", request: onWebhooks(func(w object) {
		conditions, _ := w["matchConditions"].([]any)
		for _, c := range conditions {
			c.(object)["expression"] = "false"
		}
	})},
	{name: "takes versions that aren't served for equivalent", caughtBy: "match.policy.notServed",
		request: ruled("apiVersions", []any{"*"})},
	{name: "converts to the version of the first rule", caughtBy: "match.policy.exactFirst",
		request: onRules(func(rule object) { rule["apiVersions"] = []any{"v1"} })},
	{name: "takes resources of one name for equivalent", caughtBy: "match.policy.otherGroup", request: onRules(func(rule object) {
		rule["apiGroups"], rule["apiVersions"] = []any{"*"}, []any{"*"}
	})},
	{name: "converts to the version of the last rule", caughtBy: "match.policy.firstRule", request: onWebhooks(func(w object) {
		rules, _ := w["rules"].([]any)
		slices.Reverse(rules)
	})},
	{name: "converts for rules of all versions", caughtBy: "match.policy.allVersions",
		request: onRules(func(rule object) { rule["apiVersions"] = []any{"v1"} })},
	{name: "knows no equivalent versions in all groups", caughtBy: "match.policy.anyGroup", request: onRules(func(rule object) {
		if groups, _ := rule["apiGroups"].([]any); len(groups) == 1 && groups[0] == "*" {
			rule["apiGroups"] = []any{"none.example.com"}
		}
	})},
	{name: "finds equivalent versions in rules for other operations", caughtBy: "match.policy.wholeRule",
		request: ruled("operations", []any{"*"})},
	{name: "forgets changes when it converts", caughtBy: "match.policy.chain", review: onReviews(func(r object) {
		if version, _ := at(r, "object")["apiVersion"].(string); strings.HasSuffix(version, "/v2") {
			at(r, "object", "spec")["trail"] = ""
		}
	})},
	{name: "forgets changes before a webhook that it skips", caughtBy: "match.policy.skipped",
		review: onReviews(func(r object) { at(r, "object", "spec")["size"] = 1 })},
	{name: "doesn't convert patches back", caughtBy: "match.policy.patchedForward match.policy.patchedBack match.policy.events conversion.patchedBack", review: onResponses(func(request, response object) {
		if at(request, "kind")["version"] != at(request, "requestKind")["version"] || at(request, "kind")["group"] != at(request, "requestKind")["group"] {
			delete(response, "patch")
			delete(response, "patchType")
		}
	})},
	{name: "drops requestKind", caughtBy: "match.policy.converted", review: onReviews(func(r object) { r["requestKind"] = r["kind"] })},
	{name: "calls webhooks for reads", caughtBy: "match.rule.none", request: func(r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/configmaps/a") {
			r.Method, r.URL.RawQuery = http.MethodPatch, "dryRun=All"
			r.Header.Set("Content-Type", "application/merge-patch+json")
			setRequestBody(r, []byte("{}"))
		}
	}},
	{name: "ignores namespace selectors", caughtBy: "match.namespaceSelector.namespace",
		request: onWebhooks(func(w object) { delete(at(w, "namespaceSelector"), "matchExpressions") })},
	{name: "ignores object selectors", caughtBy: "match.bothSelectors deletecollection.objectSelector",
		request: unsupported("objectSelector")},
	{name: "ignores match conditions",
		caughtBy: "match.conditions.anyFalse match.conditions.falseBeatsError match.conditions.variable.* reinvocation.condition",
		request:  unsupported("matchConditions")},
	{name: "ignores scopes",
		caughtBy: "match.rule.scope.namespaced match.rule.scope.cluster match.rule.scope.subresource",
		request:  ruled("scope", "*")},
	{name: "ignores operations",
		caughtBy: "match.rule.operation.update match.rule.operation.create match.rule.operation.delete match.rule.operation.connect match.rule.operation.several",
		request:  ruled("operations", []any{"*"})},
	{name: "ignores groups", caughtBy: "match.rule.group.other match.rule.group.core match.rule.group.named",
		request: ruled("apiGroups", []any{"*"})},
	{name: "ignores resources",
		caughtBy: "match.rule.resource.other match.rule.subresource.named match.rule.subresource.other",
		request:  ruled("resources", []any{"*"})},
	{name: "counts subresources as resources",
		caughtBy: "match.rule.resource.allNotSubresource match.rule.resource.all match.rule.resource.notSubresource",
		request:  ruled("resources", []any{"*/*"})},
	{name: "matches equivalent versions always", caughtBy: "match.policy.exact", request: field("matchPolicy", "Equivalent")},
	{name: "matches exact versions alone",
		caughtBy: "match.policy.equivalent match.policy.default match.policy.custom match.policy.status match.policy.patchedBack",
		request:  field("matchPolicy", "Exact")},
	{name: "converts no groups", caughtBy: "match.policy.groups", request: field("matchPolicy", "Exact")},
	{name: "converts no scales", caughtBy: "match.policy.scale", request: field("matchPolicy", "Exact")},
	{name: "doesn't convert the old object", caughtBy: "match.policy.convertedOld",
		review: onReviews(func(r object) { at(r, "oldObject")["apiVersion"] = "autoscaling/v2" })},
}
