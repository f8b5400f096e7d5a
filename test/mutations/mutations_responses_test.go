package mutations_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
)

// responseMutations break promises about the effects of responses and warnings of webhooks.
var responseMutations = []mutation{
	{name: "answers refusals with success", caughtBy: "response.denied.noSuccess",
		response: answeredBy("POST", "/configmaps", func(r *http.Response) { r.StatusCode = http.StatusOK })},
	{name: "applies patches of validating webhooks", caughtBy: "response.patch.validating",
		review:   onResponses(func(_, response object) { delete(response, "patch"); delete(response, "patchType") }),
		response: onAnswers(http.MethodGet, func(o object) { at(o, "data")["added"] = "yes" })},
	{name: "refuses unknown fields of responses", caughtBy: "response.unknownFields", review: onResponses(func(_, response object) {
		if response["unheardOf"] != nil {
			response["allowed"] = "unknown field"
		}
	})},
	{name: "calls twice",
		caughtBy: "response.allowed reinvocation.notByOwnChange reinvocation.notWithoutChange reinvocation.samePatch reinvocation.onlyCalled",
		review:   twice},
	{name: "accepts another uid", caughtBy: "response.uid.wrong",
		review: onResponses(func(request, response object) { response["uid"] = request["uid"] })},
	{name: "accepts no uid", caughtBy: "response.uid.missing",
		review: onResponses(func(request, response object) { response["uid"] = request["uid"] })},
	{name: "alters the uid", caughtBy: "response.denied.status", review: onReviews(func(r object) { r["uid"] = "altered" })},
	{name: "accepts a patch without a type", caughtBy: "response.patch.noType",
		review: onResponses(func(_, response object) { response["patchType"] = "JSONPatch" })},
	{name: "accepts a patch of another type", caughtBy: "response.patch.otherType",
		review: onResponses(func(_, response object) { response["patchType"] = "JSONPatch" })},
	{name: "ignores patches",
		caughtBy: "response.patch response.patch.inAnswer response.patch.metadata response.patch.scale response.patch.defaults response.patch.delete response.patch.fails response.patch.malformed order.repairs order.validationBetween.*",
		review:   onResponses(func(_, response object) { delete(response, "patch"); delete(response, "patchType") })},
	{name: "ignores refusals",
		caughtBy: "response.denied.minimal response.denied.mutating response.denied.patchIgnored response.denied.update order.allValidating reinvocation.denied dryRun.refused deletecollection.denied failure.ignoreIsNoPardon",
		review:   onResponses(func(_, response object) { response["allowed"] = true })},
	{name: "ignores the code of a refusal", caughtBy: "response.denied.status",
		review: onResponses(func(_, response object) { delete(at(response, "status"), "code") })},
	{name: "ignores the reason of a refusal", caughtBy: "response.denied.reason",
		review: onResponses(func(_, response object) { delete(at(response, "status"), "reason") })},
	{name: "ignores refused deletions", caughtBy: "response.denied.delete",
		review: onResponses(func(request, response object) { response["allowed"] = true })},
	{name: "accepts another kind of answer", caughtBy: "response.kind.wrong", review: func(next http.Handler) http.Handler {
		return onResponses(func(object, object) {})(fixKind(next))
	}},
	{name: "takes a missing verdict for a permission", caughtBy: "response.denied.absent", review: onResponses(func(_, response object) {
		if response["allowed"] == nil {
			response["allowed"] = true
		}
	})},
	{name: "limits responses to 3 MB", caughtBy: "response.large", review: onAnswersOfWebhooks(func(answer *httptest.ResponseRecorder) {
		if answer.Body.Len() > 3<<20 {
			answer.Code = http.StatusInternalServerError
		}
	})},
	{name: "ignores large patches", caughtBy: "response.patch.tooLarge", review: onResponses(func(_, response object) {
		if patch, _ := response["patch"].(string); len(patch) > 1<<20 {
			delete(response, "patch")
			delete(response, "patchType")
		}
	})},
	{name: "sends any number of warnings", caughtBy: "warning.most", response: warningHeaders(func(_ int, warnings []string) []string {
		return append(warnings, slices.Repeat([]string{`299 - "` + strings.Repeat("w", 200) + `"`}, 60)...)
	})},
	{name: "drops warnings", caughtBy: "warning.allowed", response: warningHeaders(func(int, []string) []string { return nil })},
	{name: "drops warnings of refusals", caughtBy: "warning.denied", response: warningHeaders(func(code int, warnings []string) []string {
		if code >= http.StatusBadRequest {
			return nil
		}
		return warnings
	})},
	{name: "keeps a single warning", caughtBy: "warning.all",
		response: warningHeaders(func(_ int, warnings []string) []string { return warnings[:min(1, len(warnings))] })},
	{name: "warns with another code", caughtBy: "warning.quoted", response: warningHeaders(func(_ int, warnings []string) []string {
		for i := range warnings {
			warnings[i] = strings.Replace(warnings[i], "299", "199", 1)
		}
		return warnings
	})},
	{name: "truncates warnings too early", caughtBy: "warning.long", response: warningHeaders(func(_ int, warnings []string) []string {
		for i := range warnings {
			warnings[i] = warnings[i][:min(100, len(warnings[i]))]
		}
		return warnings
	})},
}
