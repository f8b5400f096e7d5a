package mutations_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
)

// failureMutations break promises about failed calls and timeouts.
var failureMutations = []mutation{
	{name: "calls again after a failure", caughtBy: "failure.once", review: twice},
	{name: "ignores the header Retry-After", caughtBy: "failure.retried.*",
		review: onAnswersOfWebhooks(func(*httptest.ResponseRecorder) {})},
	{name: "ignores errors of calls", caughtBy: "failure.fail.*", request: ifIs("failurePolicy", "Fail", "Ignore")},
	{name: "trusts any authority", caughtBy: "failure.fail.otherAuthority failure.fail.systemRoots", request: onConfigurations(func(webhooks []object) {
		for _, w := range webhooks[1:] { // the first one shows whether the configuration is in effect, so its caBundle is right
			at(w, "clientConfig")["caBundle"] = at(webhooks[0], "clientConfig")["caBundle"]
		}
	})},
	{name: "trusts certificates of other names", caughtBy: "failure.fail.otherName", request: onWebhooks(func(w object) {
		if address, is := at(w, "clientConfig")["url"].(string); is {
			at(w, "clientConfig")["url"] = strings.Replace(address, "localhost", "127.0.0.1", 1)
		}
	})},
	{name: "fails always", caughtBy: "failure.ignore.*", request: ifIs("failurePolicy", "Ignore", "Fail")},
	{name: "drops the parameter timeout", caughtBy: "timeout.parameter", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.RawQuery = ""
			next.ServeHTTP(w, r)
		})
	}},
	{name: "gives requests more time than their timeout", caughtBy: "timeout.request", request: query(http.MethodPost, func(v url.Values) {
		if v.Get("timeout") == "1s" {
			v.Set("timeout", "7s")
		}
	})},
	{name: "has a longer timeout", caughtBy: "timeout.ignore", request: field("timeoutSeconds", 7)},
	{name: "doesn't wait", caughtBy: "timeout.ignore timeout.each timeout.fail", review: func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	}},
	{name: "gives up early", caughtBy: "timeout.slowIsFine", request: field("timeoutSeconds", 1)},
}
