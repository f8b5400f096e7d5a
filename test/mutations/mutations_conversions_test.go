package mutations_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
)

// conversionMutations break promises about the conversion of custom resources by webhooks.
var conversionMutations = []mutation{
	{name: "guesses conversions while the webhook is down", caughtBy: "conversion.down.* conversion.beforeAdmission.fails", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			request := object{}
			editBody(r, func(review object) { request = at(review, "request") })
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			if answer.Code == http.StatusServiceUnavailable {
				response := object{"uid": request["uid"], "result": object{"status": "Success"}}
				converted(request, response)
				writeJSON(w, object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response})
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		})
	}},
	{name: "sends conversions of another kind", caughtBy: "conversion.request",
		review: onBodiesOfReviews(func(review object) { review["kind"] = "Conversion" })},
	{name: "repairs wrong conversions", caughtBy: "conversion.count conversion.version conversion.name", review: onResponses(converted)},
	{name: "converts without the webhook", caughtBy: "conversion.closed", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			request := object{}
			editBody(r, func(review object) { request = at(review, "request") })
			response := object{"uid": request["uid"], "result": object{"status": "Success"}}
			converted(request, response)
			writeJSON(w, object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response})
		})
	}},
	{name: "answers in the other version", caughtBy: "conversion.stored conversion.list", response: onAnswers(http.MethodGet, func(o object) {
		for _, item := range items(o) {
			if version, _ := item["apiVersion"].(string); strings.HasPrefix(version, "conformance-") {
				item["apiVersion"] = otherVersion(version)
			}
		}
	})},
	{name: "reviews objects in the version of the request", caughtBy: "conversion.beforeAdmission", review: onReviews(func(r object) {
		if version, _ := at(r, "object")["apiVersion"].(string); version != "" {
			at(r, "object")["apiVersion"] = otherVersion(version)
		}
	})},
	{name: "accepts conversions with another uid", caughtBy: "conversion.uid",
		review: onResponses(func(request, response object) { response["uid"] = request["uid"] })},
	{name: "swallows failed conversions", caughtBy: "conversion.fails", review: onResponses(func(request, response object) {
		response["result"], response["convertedObjects"] = object{"status": "Success"}, request["objects"]
	})},
}

// otherVersion returns an apiVersion with v2 in place of v1, or with v1 in place of v2.
func otherVersion(apiVersion string) string {
	if group, isFirst := strings.CutSuffix(apiVersion, "/v1"); isFirst {
		return group + "/v2"
	}
	return strings.TrimSuffix(apiVersion, "/v2") + "/v1"
}
