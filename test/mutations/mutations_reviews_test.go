package mutations_test

import (
	"net/http"
	"strings"
)

// reviewMutations break promises about the reviews that webhooks get.
var reviewMutations = []mutation{
	{name: "drops managed fields in reviews", caughtBy: "review.managedFields",
		review: onReviews(func(r object) { delete(at(r, "object", "metadata"), "managedFields") })},
	{name: "sends another content type", caughtBy: "review.envelope", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Content-Type", "text/plain")
			next.ServeHTTP(w, r)
		})
	}},
	{name: "calls a put that creates an update", caughtBy: "review.putCreates",
		review: onReviews(func(r object) { r["operation"] = "UPDATE" })},
	{name: "sends one uid for all calls", caughtBy: "review.uid", review: func(next http.Handler) http.Handler {
		return onBodiesOfReviews(func(review object) { at(review, "request")["uid"] = "always-the-same" })(next)
	}},
	{name: "makes up a name before it is generated", caughtBy: "review.generateName review.clusterScope.generateName",
		review: onReviews(func(r object) { r["name"] = "some-name" })},
	{name: "sends a namespace for resources without one", caughtBy: "review.clusterScope",
		review: onReviews(func(r object) { r["namespace"] = "default" })},
	{name: "drops defaults", caughtBy: "review.defaults",
		review: onReviews(func(r object) { delete(at(r, "object", "spec"), "sessionAffinity") })},
	{name: "calls webhooks for configurations", caughtBy: "review.exempt", request: ruled("apiGroups", []any{"*"}),
		also: alsoPosts("mutatingwebhookconfigurations", "/apis/rbac.authorization.k8s.io/v1/clusterroles", func(configuration object) object {
			return object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": configuration["metadata"]}
		})},
	{name: "drops the options of a connection",
		caughtBy: "connect.exec connect.attach connect.portforward connect.podProxy connect.serviceProxy connect.nodeProxy",
		review:   without("object")},
	{name: "reviews connections in namespaces that don't exist", caughtBy: "connect.missingNamespace", request: func(r *http.Request) {
		r.URL.Path = strings.Replace(r.URL.Path, "-missing/pods", "/pods", 1)
	}},
	{name: "calls a connection a create", caughtBy: "connect.podProxy", review: onReviews(func(r object) { r["operation"] = "CREATE" })},
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
}
