package openapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// The handler of kube-openapi answers with a whole document also after encodedOnce has dropped the document's content.
func TestEncodedOnce(t *testing.T) {
	t.Parallel()
	document := &spec3.OpenAPI{
		Version: "3.0.0", Info: &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: "v1"}},
		Paths: &spec3.Paths{Paths: map[string]*spec3.Path{"/apis/example.com/v1/dials": {}}},
	}
	service := handler3.NewOpenAPIService()
	service.UpdateGroupVersionLazy("apis/example.com/v1", encodedOnce(func() (*spec3.OpenAPI, string, error) { return document, "1", nil }))
	get := func(path, accept string) string {
		answer, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
		req.Header.Set("Accept", accept)
		if path == "/openapi/v3" {
			service.HandleDiscovery(answer, req)
		} else {
			service.HandleGroupVersion(answer, req)
		}
		return answer.Body.String()
	}
	const path = "/openapi/v3/apis/example.com/v1"
	listed, whole := get("/openapi/v3", ""), get(path, "application/json")
	if want := `{"openapi":"3.0.0","info":{"title":"Kubernetes","version":"v1"},"paths":{"/apis/example.com/v1/dials":{}}}`; whole != want {
		t.Errorf("got %s, want %s", whole, want)
	}
	if document.Paths != nil {
		t.Error("the document is in memory besides its encoding")
	}
	if proto := get(path, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"); len(proto) < len("/apis/example.com/v1/dials") {
		t.Errorf("in protobuf, the document is %q", proto)
	}
	if again := get(path, "application/json") + get("/openapi/v3", ""); again != whole+listed {
		t.Errorf("later answers are %s, want %s", again, whole+listed)
	}
}
