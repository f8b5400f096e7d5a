package mutations_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// writeMutations break promises about writes of objects.
var writeMutations = []mutation{
	{name: "answers every error with 400", response: failedWith(http.StatusBadRequest),
		caughtBy: "write.create.exists write.conflict write.conflict.patch write.uid write.missing write.noNamespace write.invalid write.mediaType write.method write.tooLarge write.immutable write.fieldValidation.patch " +
			"apply.conflict apply.noReviewOfConflicts apply.update delete.policy finalizer.noNew format.unknown namespace.terminating"},
	{name: "answers every error with 500", response: failedWith(http.StatusInternalServerError),
		caughtBy: "write.kind write.malformed write.name write.namespace list.badToken apply.managedFields"},
	{name: "answers creates with 200", caughtBy: "write.create apply.creates", response: func(r *http.Response) {
		if r.StatusCode == http.StatusCreated {
			r.StatusCode = http.StatusOK
		}
	}},
	{name: "keeps uids of clients", caughtBy: "write.create.ignored write.recreated",
		response: onAnswers(http.MethodPost, func(o object) { at(o, "metadata")["uid"] = "mine" })},
	{name: "generates one name", caughtBy: "write.generateName", request: onBodies("POST", "configmaps", func(o object) {
		if at(o, "metadata")["generateName"] != nil {
			at(o, "metadata")["name"] = "generated"
		}
	})},
	{name: "gives changes the same version", caughtBy: "write.version.changes",
		request:  onBodies("PUT", "configmaps", func(o object) { delete(at(o, "metadata"), "resourceVersion") }),
		response: onAnswers(http.MethodPut, func(o object) { at(o, "metadata")["resourceVersion"] = "1" })},
	{name: "requires resource versions", caughtBy: "write.unconditional", request: onBodies("PUT", "configmaps", func(o object) {
		if at(o, "metadata")["resourceVersion"] == nil {
			at(o, "metadata")["resourceVersion"] = "1"
		}
	})},
	{name: "writes patches that change nothing", caughtBy: "write.unchanged.patch write.unchanged.null write.unchanged.later apply.unchanged apply.unchanged.null", request: onBodies("PATCH", "configmaps", func(o object) {
		metadata, is := o["metadata"].(object)
		if !is {
			metadata = object{}
			o["metadata"] = metadata
		}
		metadata["annotations"] = object{"written": time.Now().String()}
	})},
	{name: "writes JSON patches that change nothing", caughtBy: "write.unchanged.json", request: func(r *http.Request) {
		if r.Header.Get("Content-Type") == "application/json-patch+json" {
			setRequestBody(r, []byte(`[{"op":"add","path":"/metadata/annotations","value":{"written":"yes"}}]`))
		}
	}},
	{name: "never changes generations", caughtBy: "write.generation",
		response: onAnswers(http.MethodPatch, func(o object) { at(o, "metadata")["generation"] = 1 })},
	{name: "replaces lists by strategic patches", caughtBy: "write.strategic", request: func(r *http.Request) {
		if r.Header.Get("Content-Type") == "application/strategic-merge-patch+json" {
			r.Header.Set("Content-Type", "application/merge-patch+json")
		}
	}},
	{name: "ignores nulls of merge patches", caughtBy: "write.mergeNull",
		request: onBodies("PATCH", "configmaps", func(o object) { delete(o, "data") })},
	{name: "warns of no unknown fields", caughtBy: "write.fieldValidation.warn",
		response: warningHeaders(func(int, []string) []string { return nil })},
	{name: "warns of unknown fields always", caughtBy: "write.fieldValidation.ignore",
		request: query(http.MethodPost, dropped("fieldValidation"))},
	{name: "ignores resource versions of updates", caughtBy: "write.conflict",
		request: onBodies("PUT", "configmaps", func(o object) { delete(at(o, "metadata"), "resourceVersion") })},
	{name: "writes updates that change nothing", caughtBy: "write.unchanged.update write.unchanged.less", request: onBodies("PUT", "configmaps", func(o object) {
		at(o, "metadata")["annotations"] = object{"written": time.Now().String()}
	})},
	{name: "ignores preconditions", caughtBy: "write.precondition.uid write.precondition.version",
		request: onBodies("DELETE", "configmaps", func(o object) { delete(o, "preconditions") })},
	{name: "ignores unknown fields", caughtBy: "write.fieldValidation.strict",
		request: query(http.MethodPost, dropped("fieldValidation"))},
	{name: "answers updates of status with the whole object", caughtBy: "write.status.separate", request: func(r *http.Request) {
		r.URL.Path = strings.TrimSuffix(r.URL.Path, "/status")
	}},
	{name: "stores no null", caughtBy: "apply.null.value apply.null.object apply.null.refused", request: onBodies("PATCH", "/things/", func(o object) {
		maps.DeleteFunc(at(o, "spec"), func(_ string, value any) bool { return value == nil })
	})},
	{name: "keeps fields that a manager leaves out", caughtBy: "apply.null.leftOut",
		response: onAnswers(http.MethodGet, func(o object) { at(o, "spec")["lid"] = object{"size": "big"} })},
	{name: "stores null in place of a default", caughtBy: "apply.null.default",
		response: onAnswers(http.MethodGet, func(o object) { at(o, "spec")["replicas"] = nil })},
	{name: "needs no field manager", caughtBy: "apply.manager", request: query(http.MethodPatch, func(v url.Values) {
		if !v.Has("fieldManager") {
			v.Set("fieldManager", "default")
		}
	})},
	{name: "loses managed fields", caughtBy: "apply.status",
		response: onAnswers(http.MethodPatch, func(o object) { delete(at(o, "metadata"), "managedFields") })},
	{name: "forces every apply", caughtBy: "apply.conflict",
		request: query(http.MethodPatch, func(v url.Values) { v.Set("force", "true") })},
	{name: "never forces an apply", caughtBy: "apply.force", request: query(http.MethodPatch, dropped("force"))},
	{name: "mixes up managers", caughtBy: "apply.removes apply.creates apply.shared",
		request: query(http.MethodPatch, func(v url.Values) { v.Set("fieldManager", "all") })},
}

// failedWith returns a mutation that gives all errors one code. It doesn't change the errors that tell the suite that
// an object is gone, or that a configuration is in effect.
func failedWith(code int) func(*http.Response) {
	return func(r *http.Response) {
		gone := r.Request.Method == http.MethodDelete && r.StatusCode == http.StatusNotFound
		if r.StatusCode >= http.StatusBadRequest && !gone && !r.Request.URL.Query().Has("dryRun") {
			r.StatusCode = code
		}
	}
}
