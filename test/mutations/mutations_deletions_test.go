package mutations_test

import (
	"net/http"
	"net/url"
	"strings"
)

// deletionMutations break promises about deletions, finalizers and namespaces that end.
var deletionMutations = []mutation{
	{name: "keeps what is deleted", caughtBy: "delete.gone",
		request: query(http.MethodDelete, func(v url.Values) { v.Set("dryRun", "All") })},
	{name: "ignores propagation policies", caughtBy: "delete.propagation.orphan delete.propagation.foreground delete.propagation.orphaned delete.propagation.notOrphaned", request: onBodies("DELETE", "-owner", func(o object) {
		delete(o, "propagationPolicy")
		delete(o, "orphanDependents")
	})},
	{name: "orphans always", caughtBy: "delete.propagation.background",
		request: onBodies("DELETE", "-owner", func(o object) { o["propagationPolicy"] = "Orphan" })},
	{name: "reviews collections without a namespace as a whole", caughtBy: "deletecollection.clusterScope", review: swallow(func(r object) bool {
		return strings.HasSuffix(name(at(r, "oldObject")), "-one")
	})},
	{name: "deletes collections without their selectors", caughtBy: "deletecollection.selected",
		request: query(http.MethodDelete, func(v url.Values) { v.Del("labelSelector") })},
	{name: "reviews evictions as deletions", caughtBy: "delete.evicted", also: func(r *http.Request) *http.Request {
		pod, evicts := strings.CutSuffix(r.URL.Path, "/eviction")
		if !evicts {
			return nil
		}
		return deletes(r, pod)
	}},
	{name: "reviews the objects of deleted definitions", caughtBy: "custom.deletedWithDefinition", also: func(r *http.Request) *http.Request {
		_, group, defines := strings.Cut(r.URL.Path, "/customresourcedefinitions/things.")
		if !defines || r.Method != http.MethodDelete {
			return nil
		}
		namespace, _, _ := strings.Cut(group, ".")
		return deletes(r, "/apis/"+group+"/v1/namespaces/"+namespace+"/things/a")
	}},
	{name: "doesn't review removed finalizers", caughtBy: "finalizer.review",
		review: swallow(func(r object) bool { return r["operation"] == "UPDATE" })},
	{name: "loses times of deletions", caughtBy: "finalizer.timestamp",
		response: onAnswers(http.MethodGet, func(o object) { delete(at(o, "metadata"), "deletionTimestamp") })},
	{name: "removes finalizers in dry runs", caughtBy: "finalizer.dryRun", request: query(http.MethodPatch, dropped("dryRun"))},
	{name: "loses finalizers by other writes", caughtBy: "finalizer.writes", response: answeredBy("GET", "/deployments/web", onAnswers(http.MethodGet, func(o object) {
		delete(at(o, "metadata"), "finalizers")
	}))},
	{name: "releases addresses too early", caughtBy: "finalizer.releases",
		response: answeredBy("POST", "/services", func(r *http.Response) { r.StatusCode = http.StatusCreated })},
	{name: "ignores finalizers", caughtBy: "finalizer.holds",
		request: onBodies("POST", "configmaps", func(o object) { delete(at(o, "metadata"), "finalizers") })},
	{name: "refuses changes in namespaces that are deleted", caughtBy: "namespace.terminating.update",
		response: answeredBy("PATCH", "-held/configmaps", func(r *http.Response) { r.StatusCode = http.StatusForbidden })},
	{name: "labels no namespaces", caughtBy: "namespace.label",
		response: onAnswers(http.MethodGet, func(o object) { delete(at(o, "metadata", "labels"), "kubernetes.io/metadata.name") })},
	{name: "finishes namespaces by every write", request: finishes, caughtBy: "namespace.stays.status namespace.stays.status.patched namespace.stays.status.applied namespace.stays.status.finalizers " +
		"namespace.stays.update namespace.stays.delete namespace.stays.finalize.other namespace.stays.finalize.metadata namespace.stays.finalize.dryRun"},
	{name: "keeps finalized namespaces", caughtBy: "namespace.finalized", response: answeredBy("GET", "-ended", func(r *http.Response) {
		if r.StatusCode == http.StatusNotFound {
			r.StatusCode = http.StatusOK
		}
	})},
	{name: "deletes namespaces at once", caughtBy: "namespace.phase",
		response: onAnswers(http.MethodGet, func(o object) { delete(at(o, "status"), "phase") })},
	{name: "ignores grace periods", caughtBy: "pod.gracePeriod.reviews",
		review: onReviews(func(r object) { at(r, "options")["gracePeriodSeconds"] = 0 })},
	{name: "shortens grace periods by other writes", caughtBy: "pod.gracePeriod.status pod.gracePeriod.lastFinalizer pod.gracePeriod.patch", response: answeredBy("GET", "/pods/a", onAnswers(http.MethodGet, func(o object) {
		at(o, "metadata")["deletionGracePeriodSeconds"] = 0
	}))},
	{name: "ends grace periods in dry runs", caughtBy: "pod.gracePeriod.dryRun",
		request: onBodies("DELETE", "/pods/a", func(o object) { delete(o, "dryRun") })},
}

// finishes replaces a write of a namespace whose name ends with "-held" by a request that removes the finalizers of the
// namespace. It doesn't replace the first deletion, which has no grace period.
func finishes(r *http.Request) {
	path, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/")
	if !strings.HasSuffix(path, "-held") || strings.Contains(r.URL.Path, "/configmaps") || r.Method == http.MethodGet {
		return
	}
	if r.Method == http.MethodDelete && !strings.Contains(string(peeked(r)), "gracePeriodSeconds") {
		return
	}
	r.Method, r.URL.Path, r.URL.RawQuery = http.MethodPut, "/api/v1/namespaces/"+path+"/finalize", ""
	r.Header.Set("Content-Type", "application/json")
	setRequestBody(r, []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+path+`"},"spec":{}}`))
}

// deletes returns a dry run of the deletion of the object at a path, by the client of a request.
func deletes(r *http.Request, path string) *http.Request {
	another := r.Clone(r.Context())
	another.Method, another.URL.Path, another.URL.RawQuery = http.MethodDelete, path, "dryRun=All"
	setRequestBody(another, nil)
	return another
}

// peeked returns the body of a request. Later readers of the request get the same body.
func peeked(r *http.Request) []byte {
	if r.Body == nil {
		return nil
	}
	body := readAll(r.Body)
	setRequestBody(r, body)
	return body
}
