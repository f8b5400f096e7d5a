package conformance_test

import (
	"net/http"
)

// dryRunMutations break promises about dry runs.
var dryRunMutations = []mutation{
	{name: "persists dry runs in the body of a delete", caughtBy: "dryRun.persistsNothing.deleteOptions", request: onBodies("DELETE", "configmaps", func(o object) { delete(o, "dryRun") })},
	{name: "accepts other values of dryRun", caughtBy: "dryRun.invalid", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "swallows dryRun in reviews", caughtBy: "dryRun.sideEffects.*", review: onReviews(func(r object) { r["dryRun"] = false })},
	{name: "says dryRun always", caughtBy: "dryRun.false", review: onReviews(func(r object) { r["dryRun"] = true })},
	{name: "drops dryRun of options", caughtBy: "dryRun.options", review: onReviews(func(r object) { delete(at(r, "options"), "dryRun") })},
	{name: "persists dry runs of creates", caughtBy: "dryRun.persistsNothing.create", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "persists dry runs of deletes", caughtBy: "dryRun.persistsNothing.delete dryRun.persistsNothing.deletecollection deletecollection.dryRun", request: query(http.MethodDelete, dropped("dryRun"))},
	{name: "persists dry runs of patches", caughtBy: "dryRun.persistsNothing.patch dryRun.persistsNothing.apply", request: query(http.MethodPatch, dropped("dryRun"))},
	{name: "sends events of dry runs", caughtBy: "dryRun.noEvent dryRun.persistsNothing.update", request: query(http.MethodPut, dropped("dryRun"))},
	{name: "lists what dry runs write", caughtBy: "dryRun.listed", request: query(http.MethodPatch, dropped("dryRun"))},
	{name: "keeps cluster IPs of dry runs", caughtBy: "dryRun.clusterIP", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "keeps node ports of dry runs", caughtBy: "dryRun.nodePort", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "releases cluster IPs in dry runs", caughtBy: "dryRun.releasesNothing", request: query(http.MethodDelete, dropped("dryRun"))},
	{name: "charges dry runs to quotas", caughtBy: "dryRun.quota", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "persists dry runs of scales", caughtBy: "dryRun.subresources", request: query(http.MethodPatch, dropped("dryRun"))},
	{name: "evicts in dry runs", caughtBy: "dryRun.eviction", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "begins deletions in dry runs", caughtBy: "dryRun.finalizers", request: query(http.MethodDelete, dropped("dryRun"))},
	{name: "ends namespaces in dry runs", caughtBy: "dryRun.namespace", request: query(http.MethodDelete, dropped("dryRun"))},
	{name: "tells policies of no dry run", caughtBy: "dryRun.policy", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "drops warnings of dry runs", caughtBy: "dryRun.warned", response: func(r *http.Response) {
		if r.Request.URL.Query().Has("dryRun") {
			r.Header.Del("Warning")
		}
	}},
}
