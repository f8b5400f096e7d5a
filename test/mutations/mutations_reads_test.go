package mutations_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
)

// readMutations break promises about lists, watches and formats.
var readMutations = []mutation{
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
	{name: "counts remaining items wrongly", caughtBy: "list.remaining",
		response: onAnswers(http.MethodGet, func(o object) { at(o, "metadata")["remainingItemCount"] = 7 })},
	{name: "continues lists with the latest state", caughtBy: "list.snapshot", request: query(http.MethodGet, func(v url.Values) {
		if v.Has("continue") {
			v.Set("continue", latest(v.Get("continue")))
		}
	})},
	{name: "ignores limits", caughtBy: "list.limit", request: query(http.MethodGet, dropped("limit"))},
	{name: "ignores label selectors", caughtBy: "list.labels", request: query(http.MethodGet, dropped("labelSelector"))},
	{name: "ignores field selectors", caughtBy: "list.fields", request: query(http.MethodGet, dropped("fieldSelector"))},
	{name: "lists the latest state for any version", caughtBy: "list.exact",
		request: query(http.MethodGet, func(v url.Values) { v.Del("resourceVersion"); v.Del("resourceVersionMatch") })},
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
	{name: "loses deletions in watches", caughtBy: "watch.order", response: onEvents(func(e object) object {
		if e["type"] == "DELETED" {
			return nil
		}
		return e
	})},
	{name: "loses an event in the middle", caughtBy: "watch.continuity", response: onEvents(func(e object) object {
		if at(e, "object", "metadata")["name"] == "c17" {
			return nil
		}
		return e
	})},
	{name: "begins watches anew", caughtBy: "watch.versions", request: func(r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			query(http.MethodGet, dropped("resourceVersion"))(r)
		}
	}},
	{name: "calls all changes MODIFIED", caughtBy: "watch.selector watch.initial", response: onEvents(func(e object) object {
		e["type"] = "MODIFIED"
		return e
	})},
	{name: "never ends watches", caughtBy: "watch.timeout", request: query(http.MethodGet, func(v url.Values) {
		if v.Has("timeoutSeconds") {
			v.Set("timeoutSeconds", "600")
		}
	})},
	{name: "sends no bookmark", caughtBy: "watch.bookmarks", response: onEvents(func(e object) object {
		if e["type"] == "BOOKMARK" {
			return nil
		}
		return e
	})},
	{name: "describes no statuses", caughtBy: "format.openapi.resources", response: answeredBy("GET", "/openapi/v3/api/v1", onAnswers(http.MethodGet, func(o object) {
		delete(at(o, "paths"), "/api/v1/namespaces/{namespace}/pods/{name}/status")
	}))},
	{name: "describes versions that it doesn't serve", caughtBy: "format.openapi.unserved", request: func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/openapi/v3/apis/conformance.invalid/v1") {
			r.URL.Path = "/openapi/v3/api/v1"
		}
	}},
	{name: "publishes no OpenAPI", caughtBy: "format.openapi",
		response: answeredBy("GET", "/openapi/v3", func(r *http.Response) { r.StatusCode = http.StatusNotFound })},
	{name: "has no tables",
		caughtBy: "format.table format.metadata format.protobuf format.unknown format.yaml format.discovery",
		request:  func(r *http.Request) { r.Header.Set("Accept", "application/json") }},
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
