package mutations_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
)

// versionMutations break promises about the AdmissionReview versions of calls.
var versionMutations = []mutation{
	{name: "accepts an answer in another version", caughtBy: "version.answeredInAnother", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(edited(answer.Body.Bytes(), func(review object) { review["apiVersion"] = "admission.k8s.io/v1" }))
		})
	}},
	{name: "sends fewer fields in v1beta1", caughtBy: "version.v1beta1.content", review: onBodiesOfReviews(func(review object) {
		if review["apiVersion"] == "admission.k8s.io/v1beta1" {
			delete(at(review, "request"), "requestKind")
		}
	})},
	{name: "ignores patches in v1beta1", caughtBy: "version.v1beta1.response",
		review: onResponses(func(_, response object) { delete(response, "patch"); delete(response, "patchType") })},
	{name: "requires no review versions", caughtBy: "version.required", request: defaulted("admissionReviewVersions", []any{"v1"})},
	{name: "sends v1beta1", caughtBy: "version.v1",
		review: onBodiesOfReviews(func(review object) { review["apiVersion"] = "admission.k8s.io/v1beta1" })},
	{name: "sends v1 always", caughtBy: "version.v1beta1", request: field("admissionReviewVersions", []any{"v1"})},
	{name: "prefers the last version", caughtBy: "version.firstWins version.firstWins.older", request: onWebhooks(func(w object) {
		if versions, _ := w["admissionReviewVersions"].([]any); len(versions) == 2 {
			versions[0], versions[1] = versions[1], versions[0]
		}
	})},
	{name: "takes the first version whether it knows it or not", caughtBy: "version.unknownSkipped", request: onWebhooks(func(w object) {
		versions, _ := w["admissionReviewVersions"].([]any)
		w["admissionReviewVersions"] = versions[:1]
	})},
	{name: "accepts versions that it doesn't know", caughtBy: "version.noneSupported",
		request: field("admissionReviewVersions", []any{"v1"})},
	{name: "requires uids in v1beta1", caughtBy: "version.v1beta1.bare", review: onAnswersOfWebhooks(func(answer *httptest.ResponseRecorder) {
		review := object{}
		if json.Unmarshal(answer.Body.Bytes(), &review) != nil || at(review, "response")["uid"] == nil {
			answer.Code = http.StatusInternalServerError
		}
	})},
}
