package mutations_test

import (
	"net/http"
)

// everyMutations break promises about the reviews of built-in resources and custom resources.
var everyMutations = []mutation{
	{name: "reviews no subresources", caughtBy: "every.apps.v1.deployments.status",
		review: swallow(func(r object) bool { return r["subResource"] != nil })},
	{name: "reviews no deletions of collections", caughtBy: "every.core.v1.configmaps", review: swallow(func(r object) bool {
		return r["operation"] == "DELETE" && r["name"] == nil
	})},
	{name: "reviews no connections", caughtBy: "every.core.v1.pods.exec",
		review: swallow(func(r object) bool { return r["operation"] == "CONNECT" })},
	{name: "calls dry runs of patches persistent", caughtBy: "every.core.v1.secrets", request: query(http.MethodPatch, dropped("dryRun"))},
	{name: "calls evictions pods", caughtBy: "every.core.v1.pods.eviction",
		review: onReviews(func(r object) { at(r, "kind")["kind"] = "Pod" })},
	{name: "keeps the custom resources of deleted definitions", caughtBy: "custom.redefined", response: onAnswers(http.MethodGet, func(o object) {
		if list, is := o["items"].([]any); is && o["kind"] == "ThingsList" {
			o["items"] = append(list, object{"metadata": object{"name": "old"}})
		}
	})},
	{name: "reviews no status of custom resources", caughtBy: "custom.every.status",
		review: swallow(func(r object) bool { return r["subResource"] == "status" })},
	{name: "reviews no scales of custom resources", caughtBy: "custom.every.scale",
		review: swallow(func(r object) bool { return r["subResource"] == "scale" })},
	{name: "sends no old object of custom resources", caughtBy: "custom.every", review: without("oldObject")},
}
