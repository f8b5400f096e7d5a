package mutations_test

import (
	"net/http"
	"slices"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
)

// matrixMutations break the promises of the matrix for all operations. A case of the matrix makes the request of one
// operation, so the failure of the case shows that the case notices the mutation of this operation.
var matrixMutations = slices.Concat(reviewedFields(), countedFamilies(), []mutation{
	{name: "drops the options of requests", caughtBy: "matrix.options.*", review: onReviews(func(r object) { r["options"] = object{} })},
	{name: "drops propagation policies of options",
		caughtBy: "matrix.options.delete matrix.options.deletecollection delete.reviewed.*",
		review:   onReviews(func(r object) { delete(at(r, "options"), "propagationPolicy") })},
	{name: "drops preconditions of options", caughtBy: "matrix.options.delete matrix.options.deletecollection",
		review: onReviews(func(r object) { delete(at(r, "options"), "preconditions") })},
	{name: "drops field managers of options", caughtBy: cells("options", "connect", "delete", "deletecollection"),
		review: onReviews(func(r object) { delete(at(r, "options"), "fieldManager") })},
	{name: "sends force", caughtBy: "matrix.review.apply matrix.review.applyCreates",
		review: onReviews(func(r object) { at(r, "options")["force"] = true })},
	{name: "drops the name of the user", caughtBy: "matrix.userInfo.create",
		review: onReviews(func(r object) { delete(at(r, "userInfo"), "username") })},
	{name: "drops the uid of the user", caughtBy: "matrix.userInfo.*",
		review: onReviews(func(r object) { delete(at(r, "userInfo"), "uid") })},
	{name: "drops the groups of the user", caughtBy: "matrix.userInfo.deletecollection",
		review: onReviews(func(r object) { delete(at(r, "userInfo"), "groups") })},
	{name: "drops the extra fields of the user", caughtBy: "matrix.userInfo.*",
		review: onReviews(func(r object) { delete(at(r, "userInfo"), "extra") })},
	{name: "ignores dryRun", caughtBy: "matrix.dryRun.*", request: func(r *http.Request) { query(r.Method, dropped("dryRun"))(r) }},
	{name: "calls dry runs persistent", caughtBy: cells("dryRun", "connect"), review: onReviews(func(r object) { r["dryRun"] = false })},
	{name: "drops dryRun of options", caughtBy: cells("dryRun", "connect"),
		review: onReviews(func(r object) { delete(at(r, "options"), "dryRun") })},
	{name: "sends the object as it was before its deletion", caughtBy: "matrix.deleting.*",
		review: onReviews(func(r object) { delete(at(r, "oldObject", "metadata"), "deletionTimestamp") })},
	{name: "calls webhooks in another order", caughtBy: "matrix.order.*", request: onBodies("POST", "mutatingwebhookconfigurations", func(o object) {
		if strings.HasSuffix(name(o), "-b") {
			at(o, "metadata")["name"] = strings.TrimSuffix(name(o), "b") + "z"
		}
	})},
	{name: "lets refused requests pass", caughtBy: "matrix.refused.*",
		review: onResponses(func(_, response object) { response["allowed"] = true })},
	{name: "fails open by default", caughtBy: "matrix.fail.*", request: defaulted("failurePolicy", "Ignore")},
	{name: "fails closed", caughtBy: "matrix.ignore.*", request: ifIs("failurePolicy", "Ignore", "Fail")},
	{name: "calls without the parameter timeout", caughtBy: "matrix.timeout.*", review: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.RawQuery = ""
			next.ServeHTTP(w, r)
		})
	}},
	{name: "drops match conditions", caughtBy: "matrix.conditions.* matrix.conditionFails.*", request: unsupported("matchConditions")},
	{name: "drops object selectors", caughtBy: "matrix.objectSelector.*", request: unsupported("objectSelector")},
	{name: "selects objects that don't exist", caughtBy: cells("objectSelector", "scale"), request: onWebhooks(func(w object) {
		expressions, _ := at(w, "objectSelector")["matchExpressions"].([]any)
		if len(expressions) == 1 && slices.Contains([]any{"DoesNotExist", "NotIn"}, expressions[0].(object)["operator"]) {
			delete(w, "objectSelector")
		}
	})},
	{name: "drops namespace selectors", caughtBy: cells("namespaceSelector", "cluster"),
		request: onWebhooks(func(w object) { delete(at(w, "namespaceSelector"), "matchExpressions") })},
	{name: "selects no objects without a namespace", caughtBy: "matrix.namespaceSelector.cluster",
		review: swallow(func(r object) bool { return r["namespace"] == nil })},
	{name: "drops all warnings", caughtBy: "matrix.warnings.*", response: warningHeaders(func(int, []string) []string { return nil })},
	{name: "returns warnings in another order", caughtBy: "matrix.warnings.*", response: warningHeaders(func(_ int, warnings []string) []string {
		slices.Reverse(warnings)
		return warnings
	})},
	{name: "drops audit annotations of responses", caughtBy: "matrix.audit.*",
		review: onResponses(func(_, response object) { delete(response, "auditAnnotations") })},
	{name: "notes nothing about failed calls", caughtBy: "matrix.audit.*", request: ifIs("failurePolicy", "Ignore", "Fail")},
	{name: "calls no webhook again",
		caughtBy: cells("reinvocation", "delete", "deletecollection") + " matrix.reinvocationFails.*",
		request:  ifIs("reinvocationPolicy", "IfNeeded", "Never")},
	{name: "calls webhooks again without a change", caughtBy: "matrix.reinvocation.*", review: twice},
	{name: "drops patches", caughtBy: "matrix.patch.* matrix.identity.*",
		review: onResponses(func(_, response object) { delete(response, "patch"); delete(response, "patchType") })},
})

// cells returns the cases of a promise of the matrix, except those of some operations.
func cells(promise string, except ...string) string {
	var ids []string
	for _, c := range apiserver.Tests() {
		if operation, is := strings.CutPrefix(c.ID, apiserver.MatrixPrefix+promise+"."); is && !slices.Contains(except, operation) {
			ids = append(ids, c.ID)
		}
	}
	return strings.Join(ids, " ")
}

// reviewedFields returns a mutation for each field of a review. All cases compare whole reviews, so one case is enough for
// most fields.
func reviewedFields() []mutation {
	var mutations []mutation
	for field, caughtBy := range map[string]string{
		"object": "matrix.review.*", "oldObject": "matrix.review.*", "options": "matrix.review.*", "operation": "matrix.review.connect",
		"kind": "matrix.review.scale", "requestKind": "matrix.review.eviction", "resource": "matrix.review.custom",
		"requestResource": "matrix.review.binding",
		"subResource":     "matrix.review.status", "requestSubResource": "matrix.review.token",
		"name": "matrix.review.deletecollection", "namespace": "matrix.review.cluster",
	} {
		mutations = append(mutations, mutation{name: "sends another " + field, caughtBy: caughtBy, review: onReviews(func(r object) { r[field] = object{"kind": "Other"} })})
	}
	return mutations
}

// countedFamilies returns a mutation for each family of metrics about webhooks.
func countedFamilies() []mutation {
	var mutations []mutation
	for family, caughtBy := range map[string]string{
		"webhook_request_total":   "matrix.metrics.*",
		"webhook_rejection_count": "matrix.metrics.connect metrics.timeout", "webhook_fail_open_count": "matrix.metrics.delete",
		"webhook_admission_duration_seconds": "matrix.metrics.status", "match_condition_evaluation_seconds": "metrics.conditions",
		"match_condition_evaluation_errors_total": "metrics.conditions", "match_condition_exclusions_total": "metrics.conditions",
		"step_admission_duration_seconds": "metrics.steps", "controller_admission_duration_seconds": "metrics.steps",
	} {
		mutations = append(mutations, mutation{name: "doesn't count " + family, caughtBy: caughtBy,
			request: func(r *http.Request) { r.Header.Del("Accept-Encoding") },
			response: answeredBy("GET", "/metrics", func(r *http.Response) {
				setBody(r, []byte(strings.ReplaceAll(string(readAll(r.Body)), "apiserver_admission_"+family, "others")))
			}),
		})
	}
	return mutations
}
