package openapi

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// documentOf returns a document with one path, whose response is the definition Options, and with that definition.
func documentOf(t *testing.T, path, description, kind string) *spec.Swagger {
	t.Helper()
	const text = `{"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1"}, "paths": {%q: {"get": {"responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/Options"}}}}}},
		"definitions": {"Options": {"description": %q, "x-kubernetes-group-version-kind": [{"group": %q, "version": "v1", "kind": "Options"}]}}}`
	swagger := &spec.Swagger{}
	if err := json.Unmarshal(fmt.Appendf(nil, text, path, description, kind), swagger); err != nil {
		t.Fatal(err)
	}
	return swagger
}

// shown returns the definitions of a document with their descriptions and the number of their kinds, and the
// definition that each path refers to.
func shown(t *testing.T, document ...*fragment) map[string]string {
	t.Helper()
	swagger := &spec.Swagger{}
	if err := json.Unmarshal(joinJSON(document), swagger); err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for name, definition := range swagger.Definitions {
		lines[name] = fmt.Sprintf("%s, %d kinds", definition.Description, len(definition.Extensions["x-kubernetes-group-version-kind"].([]any)))
	}
	for path, item := range swagger.Paths.Paths {
		lines[path] = item.Get.Responses.StatusCodeResponses[200].Schema.Ref.String()
	}
	return lines
}

// TestWithOthers checks the document that a server merges from its own document and the documents of other servers.
func TestWithOthers(t *testing.T) {
	t.Parallel()
	const same, other = "#/definitions/Options", "#/definitions/Options_v2"
	own, err := newFragment("own", documentOf(t, "/apis/own/v1/", "options", "own"))
	if err != nil {
		t.Fatal(err)
	}
	before := shown(t, own)
	alike, different := documentOf(t, "/apis/alike/v1/", "options", "alike"), documentOf(t, "/apis/different/v1/", "other options", "different")
	var merged *fragment
	for _, test := range []struct {
		name, reason string
		others       []cached.Result[*spec.Swagger]
		want         map[string]string
		version      string
	}{
		{
			"alike", "servers share a definition, which has the kinds of both", []cached.Result[*spec.Swagger]{{Value: alike, Etag: "a"}},
			map[string]string{"/apis/own/v1/": same, "/apis/alike/v1/": same, "Options": "options, 2 kinds"}, "own,a",
		},
		{
			"different", "a different definition of the same name gets another name",
			[]cached.Result[*spec.Swagger]{{Value: alike, Etag: "a"}, {Value: different, Etag: "d"}},
			map[string]string{
				"/apis/own/v1/": same, "/apis/alike/v1/": same, "/apis/different/v1/": other,
				"Options": "options, 2 kinds", "Options_v2": "other options, 1 kinds",
			}, "own,a,d",
		},
		{
			"conflict", "the path is the server's own",
			[]cached.Result[*spec.Swagger]{{Value: documentOf(t, "/apis/own/v1/", "other options", "own"), Etag: "c"}},
			map[string]string{"/apis/own/v1/": same, "Options": "options, 1 kinds"}, "own,c",
		},
	} {
		document, err := withOthers(merged, []*fragment{own}, test.others)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, shown(t, document)); diff != "" || document.version != test.version {
			t.Errorf("%s: %s: version %q, want %q; (-want +got):\n%s", test.name, test.reason, document.version, test.version, diff)
		}
		if again, err := withOthers(document, []*fragment{own}, test.others); again != document {
			t.Errorf("%s: the document is merged again although nothing has changed, or err: %v", test.name, err)
		}
		merged = document
	}
	if diff := cmp.Diff(before, shown(t, own)); diff != "" {
		t.Errorf("the server's own document has changed (-want +got):\n%s", diff)
	}
}
