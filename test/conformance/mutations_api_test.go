package conformance_test

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// apiMutations are changes by which a proxy makes a good server break promises of the API outside of admission. At
// least one case of the suite must fail for each change.
var apiMutations = []mutation{
	// The codes.
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

	// Writes.
	{name: "keeps uids of clients", caughtBy: "write.create.ignored write.recreated", response: onAnswers(http.MethodPost, func(o object) { at(o, "metadata")["uid"] = "mine" })},
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
	{name: "stores no null", caughtBy: "apply.null.value apply.null.object apply.null.refused", request: onBodies("PATCH", "/things/", func(o object) {
		maps.DeleteFunc(at(o, "spec"), func(_ string, value any) bool { return value == nil })
	})},
	{name: "keeps fields that a manager leaves out", caughtBy: "apply.null.leftOut", response: onAnswers(http.MethodGet, func(o object) { at(o, "spec")["lid"] = object{"size": "big"} })},
	{name: "stores null in place of a default", caughtBy: "apply.null.default", response: onAnswers(http.MethodGet, func(o object) { at(o, "spec")["replicas"] = nil })},
	{name: "keeps the custom resources of deleted definitions", caughtBy: "custom.redefined", response: onAnswers(http.MethodGet, func(o object) {
		if list, is := o["items"].([]any); is && o["kind"] == "ThingsList" {
			o["items"] = append(list, object{"metadata": object{"name": "old"}})
		}
	})},
	{name: "never changes generations", caughtBy: "write.generation", response: onAnswers(http.MethodPatch, func(o object) { at(o, "metadata")["generation"] = 1 })},
	{name: "replaces lists by strategic patches", caughtBy: "write.strategic", request: func(r *http.Request) {
		if r.Header.Get("Content-Type") == "application/strategic-merge-patch+json" {
			r.Header.Set("Content-Type", "application/merge-patch+json")
		}
	}},
	{name: "ignores nulls of merge patches", caughtBy: "write.mergeNull", request: onBodies("PATCH", "configmaps", func(o object) { delete(o, "data") })},
	{name: "warns of no unknown fields", caughtBy: "write.fieldValidation.warn", response: warningHeaders(func(int, []string) []string { return nil })},
	{name: "warns of unknown fields always", caughtBy: "write.fieldValidation.ignore", request: query(http.MethodPost, dropped("fieldValidation"))},
	{name: "needs no field manager", caughtBy: "apply.manager", request: query(http.MethodPatch, func(v url.Values) {
		if !v.Has("fieldManager") {
			v.Set("fieldManager", "default")
		}
	})},
	{name: "loses managed fields", caughtBy: "apply.status", response: onAnswers(http.MethodPatch, func(o object) { delete(at(o, "metadata"), "managedFields") })},

	// Lists and watches.
	{name: "lists one namespace", caughtBy: "list.allNamespaces", request: func(r *http.Request) {
		if r.URL.Path == "/api/v1/configmaps" {
			r.URL.Path = "/api/v1/namespaces/default/configmaps"
		}
	}},
	{name: "lists without the newest object", caughtBy: "list.fresh list.kind list.notOlderThan", response: answeredBy("GET", "/configmaps", func(r *http.Response) {
		if r.Request.URL.Query().Has("labelSelector") {
			onAnswers(http.MethodGet, func(o object) {
				if list, _ := o["items"].([]any); len(list) > 0 {
					o["items"] = list[:len(list)-1]
				}
			})(r)
		}
	})},
	{name: "counts remaining items wrongly", caughtBy: "list.remaining", response: onAnswers(http.MethodGet, func(o object) { at(o, "metadata")["remainingItemCount"] = 7 })},
	{name: "continues lists with the latest state", caughtBy: "list.snapshot", request: query(http.MethodGet, func(v url.Values) {
		if v.Has("continue") {
			v.Set("continue", latest(v.Get("continue")))
		}
	})},
	{name: "watches from any version", caughtBy: "watch.badVersion", request: query(http.MethodGet, func(v url.Values) {
		if v.Get("resourceVersion") == "nonsense" {
			v.Del("resourceVersion")
		}
	})},
	{name: "sends deletions without the object", caughtBy: "watch.deleted", response: onEvents(func(e object) object {
		if e["type"] == "DELETED" {
			delete(at(e, "object"), "data")
		}
		return e
	})},
	{name: "ignores field selectors of watches", caughtBy: "watch.fields", request: query(http.MethodGet, func(v url.Values) {
		if v.Has("watch") {
			v.Del("fieldSelector")
		}
	})},
	{name: "sends events without the changes of webhooks", caughtBy: "watch.mutated", response: onEvents(func(e object) object {
		delete(at(e, "object", "data"), "added")
		return e
	})},

	// OpenAPI.
	{name: "describes no statuses", caughtBy: "format.openapi.resources", response: answeredBy("GET", "/openapi/v3/api/v1", onAnswers(http.MethodGet, func(o object) {
		delete(at(o, "paths"), "/api/v1/namespaces/{namespace}/pods/{name}/status")
	}))},
	{name: "describes versions that it doesn't serve", caughtBy: "format.openapi.unserved", request: func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/openapi/v3/apis/conformance.invalid/v1") {
			r.URL.Path = "/openapi/v3/api/v1"
		}
	}},
	{name: "publishes no OpenAPI", caughtBy: "format.openapi", response: answeredBy("GET", "/openapi/v3", func(r *http.Response) { r.StatusCode = http.StatusNotFound })},
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

// latest returns a token that continues the same list as the given token, but with the latest state.
func latest(token string) string {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return token
	}
	text = edited(text, func(o object) { o["rv"] = -1 })
	return base64.RawURLEncoding.EncodeToString(text)
}
