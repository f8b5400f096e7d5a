package conformance_test

import (
	"net/http"
	"strings"
)

// reviewMutations break promises about the reviews that webhooks get.
var reviewMutations = []mutation{
	{name: "calls subresources pods", caughtBy: "review.binding review.eviction review.token", review: onReviews(func(r object) { at(r, "kind")["kind"] = "Pod" })},
	{name: "drops managed fields in reviews", caughtBy: "review.managedFields", review: onReviews(func(r object) { delete(at(r, "object", "metadata"), "managedFields") })},
	{name: "sends another content type", caughtBy: "review.envelope", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Content-Type", "text/plain")
			next.ServeHTTP(w, r)
		})
	}},
	{name: "drops object of a create", caughtBy: "review.create.object", review: without("object")},
	{name: "sends oldObject with a create", caughtBy: "review.create.oldObject", review: onReviews(func(r object) { r["oldObject"] = r["object"] })},
	{name: "drops options of a create", caughtBy: "review.create.options", review: without("options")},
	{name: "drops oldObject of an update", caughtBy: "review.update.objects", review: without("oldObject")},
	{name: "sends the new object as oldObject", caughtBy: "review.update.objects", review: onReviews(func(r object) { r["oldObject"] = r["object"] })},
	{name: "drops options of an update", caughtBy: "review.update.options", review: without("options")},
	{name: "drops oldObject of a delete", caughtBy: "review.delete.oldObject", review: without("oldObject")},
	{name: "sends object with a delete", caughtBy: "review.delete.object", review: onReviews(func(r object) { r["object"] = r["oldObject"] })},
	{name: "drops options of a delete", caughtBy: "review.delete.options", review: without("options")},
	{name: "calls a put that creates an update", caughtBy: "review.putCreates", review: onReviews(func(r object) { r["operation"] = "UPDATE" })},
	{name: "sends one uid for all calls", caughtBy: "review.uid", review: func(next http.Handler) http.Handler {
		return onBodiesOfReviews(func(review object) { at(review, "request")["uid"] = "always-the-same" })(next)
	}},
	{name: "drops the name", caughtBy: "review.name", review: without("name")},
	{name: "makes up a name before it is generated", caughtBy: "review.generateName review.clusterScope.generateName", review: onReviews(func(r object) { r["name"] = "some-name" })},
	{name: "sends a namespace for resources without one", caughtBy: "review.clusterScope", review: onReviews(func(r object) { r["namespace"] = "default" })},
	{name: "drops the group of the kind", caughtBy: "review.kinds", review: onReviews(func(r object) { at(r, "kind")["group"] = "" })},
	{name: "calls a Scale a Deployment", caughtBy: "review.scale", review: onReviews(func(r object) { at(r, "kind")["kind"] = "Deployment" })},
	{name: "drops subResource", caughtBy: "review.status", review: without("subResource")},
	{name: "drops the groups of the user", caughtBy: "review.userInfo", review: onReviews(func(r object) { delete(at(r, "userInfo"), "groups") })},
	{name: "drops defaults", caughtBy: "review.defaults", review: onReviews(func(r object) { delete(at(r, "object", "spec"), "sessionAffinity") })},
	{name: "drops field managers of patches", caughtBy: "review.patch.options", review: onReviews(func(r object) { delete(at(r, "options"), "fieldManager") })},
	{name: "adds field managers to options", caughtBy: "review.options.none", review: onReviews(func(r object) { at(r, "options")["fieldManager"] = "unknown" })},
	{name: "sends force", caughtBy: "review.apply.options", review: onReviews(func(r object) { at(r, "options")["force"] = true })},
	{name: "calls webhooks for configurations", caughtBy: "review.exempt", request: ruled("apiGroups", []any{"*"}),
		also: alsoPosts("mutatingwebhookconfigurations", "/apis/rbac.authorization.k8s.io/v1/clusterroles", func(configuration object) object {
			return object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": configuration["metadata"]}
		})},
	{name: "drops the options of a connection", caughtBy: "connect.exec connect.attach connect.portforward connect.podProxy connect.serviceProxy connect.nodeProxy", review: without("object")},
	{name: "calls a connection a create", caughtBy: "connect.podProxy", review: onReviews(func(r object) { r["operation"] = "CREATE" })},
	{name: "makes dry runs of connections", caughtBy: "connect.dryRun", request: query(http.MethodPost, dropped("dryRun"))},
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
	{name: "sends patch options", caughtBy: "patch.reviewed.merge", review: onReviews(func(r object) { at(r, "options")["kind"] = "PatchOptions" })},
	{name: "sends the patch rather than the object", caughtBy: "patch.reviewed.*", review: onReviews(func(r object) { delete(at(r, "object", "data"), "other") })},
}
