package mutations_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// chainMutations break promises about the order of admission and reinvocation.
var chainMutations = []mutation{
	{name: "reviews objects in namespaces that don't exist", caughtBy: "order.plugins.namespace", request: func(r *http.Request) {
		r.URL.Path = strings.Replace(r.URL.Path, "-missing/configmaps", "/configmaps", 1)
	}},
	{name: "calls webhooks before the plugins", caughtBy: "order.plugins.mutating",
		review: onReviews(func(r object) { delete(at(r, "object", "spec"), "priority") })},
	{name: "judges pods before the webhooks", caughtBy: "order.plugins.podSecurity order.plugins.limitRanger", review: onResponses(func(_, response object) {
		delete(response, "patch")
		delete(response, "patchType")
	})},
	{name: "charges objects that webhooks refuse", caughtBy: "order.plugins.quota", response: answeredBy("GET", "/resourcequotas/", onAnswers(http.MethodGet, func(o object) {
		at(o, "status", "used")["services"] = "1"
	}))},
	{name: "repairs metadata without a warning", caughtBy: "order.repaired.*",
		response: warningHeaders(func(int, []string) []string { return nil })},
	{name: "reviews the object as the client has sent it", review: onReviews(func(r object) { at(r, "object", "data")["trail"] = "" }),
		caughtBy: "order.finalState"},
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
	{name: "reviews generations of clients", caughtBy: "order.preparation.*",
		review: onReviews(func(r object) { at(r, "object", "metadata")["generation"] = 77 })},
	{name: "reviews statuses of webhooks", caughtBy: "order.status",
		review: onReviews(func(r object) { r["object"].(object)["status"] = object{"observedGeneration": 7} })},
	{name: "reviews requests that it can't decode", caughtBy: "order.noReviewOfBadRequests", request: func(r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/configmaps") {
			body := readAll(r.Body)
			if string(body) == `{"kind":` {
				body = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"decoded"}}`)
			}
			setRequestBody(r, body)
		}
	}},
	{name: "creates what exists", caughtBy: "order.exists",
		response: answeredBy("POST", "/configmaps", func(r *http.Response) { r.StatusCode = http.StatusCreated })},
	{name: "stores updates without what webhooks change", caughtBy: "order.validationBetween.update", review: onResponses(func(_, response object) {
		delete(response, "patch")
		delete(response, "patchType")
	})},
	{name: "reviews objects without their uid", caughtBy: "order.systemFields",
		review: onReviews(func(r object) { delete(at(r, "object", "metadata"), "uid") })},
	{name: "reinvokes by default", caughtBy: "reinvocation.default", request: onConfigurations(func(webhooks []object) {
		for _, w := range webhooks[1:] {
			w["reinvocationPolicy"] = "IfNeeded"
		}
	})},
	{name: "doesn't run its own plugins again", caughtBy: "reinvocation.inTree", response: onAnswers(http.MethodPost, func(o object) {
		containers, _ := at(o, "spec")["containers"].([]any)
		for _, c := range containers[min(1, len(containers)):] {
			delete(c.(object), "resources")
		}
	})},
	{name: "reinvokes always", caughtBy: "reinvocation.never", request: onWebhooks(func(w object) {
		if w["reinvocationPolicy"] != nil {
			w["reinvocationPolicy"] = "IfNeeded"
		}
	})},
	{name: "reinvokes never",
		caughtBy: "reinvocation.afterLater reinvocation.full reinvocation.partial reinvocation.onlyOptedIn",
		request:  ifIs("reinvocationPolicy", "IfNeeded", "Never")},
	{name: "reviews a changed object once", caughtBy: "repeat.update repeat.json repeat.merge repeat.strategic repeat.apply repeat.delete repeat.deletecollection", review: swallow(func(r object) bool {
		return at(r, "oldObject", "metadata", "labels")["meddler"] != nil
	})},
	{name: "ignores the version of a request whose object changes", caughtBy: "repeat.not.*", request: onBodies("PUT PATCH DELETE", "configmaps", func(o object) {
		delete(at(o, "metadata"), "resourceVersion")
		delete(o, "preconditions")
	})},
}
