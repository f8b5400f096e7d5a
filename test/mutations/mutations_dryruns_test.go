package mutations_test

import (
	"net/http"
)

// dryRunMutations break promises about dry runs.
var dryRunMutations = []mutation{
	{name: "accepts other values of dryRun", caughtBy: "dryRun.invalid", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "swallows dryRun in reviews", caughtBy: "dryRun.sideEffects.*", review: onReviews(func(r object) { r["dryRun"] = false })},
	{name: "sends events of dry runs", caughtBy: "dryRun.noEvent", request: query(http.MethodPut, dropped("dryRun"))},
	{name: "lists what dry runs write", caughtBy: "dryRun.listed", request: query(http.MethodPatch, dropped("dryRun"))},
	{name: "keeps cluster IPs of dry runs", caughtBy: "dryRun.clusterIP", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "keeps node ports of dry runs", caughtBy: "dryRun.nodePort", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "releases cluster IPs in dry runs", caughtBy: "dryRun.releasesNothing", request: query(http.MethodDelete, dropped("dryRun"))},
	{name: "charges dry runs to quotas", caughtBy: "dryRun.quota", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "begins deletions in dry runs", caughtBy: "dryRun.finalizers", request: query(http.MethodDelete, dropped("dryRun"))},
	{name: "ends namespaces in dry runs", caughtBy: "dryRun.namespace", request: query(http.MethodDelete, dropped("dryRun"))},
	{name: "tells policies of no dry run", caughtBy: "dryRun.policy", request: query(http.MethodPost, dropped("dryRun"))},
	{name: "drops warnings of dry runs", caughtBy: "dryRun.warned", response: func(r *http.Response) {
		if r.Request.URL.Query().Has("dryRun") {
			r.Header.Del("Warning")
		}
	}},
}
