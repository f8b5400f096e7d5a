package integration_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Both OpenAPI documents (v2 and v3) describe the ways of authentication. Each operation has the response to a
// request without credentials.
func TestOpenAPISecurity(t *testing.T) {
	t.Parallel()
	client, err := kubernetes.NewForConfig(miniapitest.Start(t).Config())
	ok(t, err)
	get := func(t *testing.T, path string) map[string]any {
		t.Helper()
		data, err := client.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(t.Context())
		ok(t, err)
		var document map[string]any
		ok(t, json.Unmarshal(data, &document))
		return document
	}
	schemes := map[string]any{"BearerToken": map[string]any{
		"description": "Bearer Token authentication", "in": "header", "name": "authorization", "type": "apiKey",
	}}
	for _, test := range []struct {
		name, path, operation, reason string
		want                          map[string]any
		of                            func(document map[string]any) map[string]any
	}{
		{
			"v2", "/openapi/v2", "/api/v1/pods", "kubectl explain and old clients read this document",
			map[string]any{"definitions": schemes, "security": []any{map[string]any{"BearerToken": []any{}}}},
			func(document map[string]any) map[string]any {
				return map[string]any{"definitions": document["securityDefinitions"], "security": document["security"]}
			},
		},
		{
			"v3", "/openapi/v3/apis/apps/v1", "/apis/apps/v1/deployments", "present clients are generated from this document",
			map[string]any{"definitions": schemes},
			func(document map[string]any) map[string]any {
				return map[string]any{"definitions": document["components"].(map[string]any)["securitySchemes"]}
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			document := get(t, test.path)
			if diff := cmp.Diff(test.want, test.of(document)); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", test.reason, diff)
			}
			operation := document["paths"].(map[string]any)[test.operation].(map[string]any)["get"].(map[string]any)
			if operation["responses"].(map[string]any)["401"] == nil {
				t.Errorf("%s: %s has no answer 401", test.reason, test.operation)
			}
		})
	}
}

// Every resource of discovery is in the OpenAPI v2 document, because older clients validate manifests by it. The case
// format.openapi.resources is about v3.
func TestOpenAPIDescribesDiscoveredResources(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	client := must(kubernetes.NewForConfig(srv.Config()))(t).Discovery()
	_, lists, err := client.ServerGroupsAndResources()
	ok(t, err)
	v2 := must(client.OpenAPISchema())(t)
	inV2 := map[string]bool{}
	for _, path := range v2.GetPaths().GetPath() {
		inV2[path.GetName()] = true
	}
	for _, list := range lists {
		root := "apis/" + list.GroupVersion
		if list.GroupVersion == "v1" {
			root = "api/v1"
		}
		for _, resource := range list.APIResources {
			name, subresource, isSubresource := strings.Cut(resource.Name, "/")
			path := "/" + root + "/"
			if resource.Namespaced {
				path += "namespaces/{namespace}/"
			}
			path += name
			if isSubresource {
				path += "/{name}/" + subresource
			}
			if !inV2[path] {
				t.Errorf("/openapi/v2 has no %s", path)
			}
		}
	}
}

// The v3 document of a version describes a deletion by the kinds of this version and of the core version alone. The
// deletion of a namespace is answered with a Status in the documents, though the answer can be the namespace.
func TestOpenAPIDescribesDeletions(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	read := func(path string, into any) {
		t.Helper()
		ok(t, json.Unmarshal(must(srv.Client().Discovery().RESTClient().Get().AbsPath(path).DoRaw(t.Context()))(t), into))
	}
	type definition struct {
		Kinds []metav1.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
	}
	const deleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
	var v3 struct {
		Components struct {
			Schemas map[string]definition `json:"schemas"`
		} `json:"components"`
	}
	read("/openapi/v3/apis/apps/v1", &v3)
	want := []metav1.GroupVersionKind{{Version: "v1", Kind: "DeleteOptions"}, {Group: "apps", Version: "v1", Kind: "DeleteOptions"}}
	if diff := cmp.Diff(want, v3.Components.Schemas[deleteOptions].Kinds); diff != "" {
		t.Errorf("kinds of DeleteOptions in the v3 document: -want, +got:\n%s", diff)
	}
	var v2 struct {
		Definitions map[string]definition `json:"definitions"`
		Paths       map[string]struct {
			Delete struct {
				Responses map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					} `json:"schema"`
				} `json:"responses"`
			} `json:"delete"`
		} `json:"paths"`
	}
	read("/openapi/v2", &v2)
	for _, kind := range []metav1.GroupVersionKind{
		{Group: "batch", Version: "v1", Kind: "DeleteOptions"}, {Group: "admission.k8s.io", Version: "v1", Kind: "DeleteOptions"},
	} {
		if !slices.Contains(v2.Definitions[deleteOptions].Kinds, kind) {
			t.Errorf("the v2 document has no %v", kind)
		}
	}
	const status = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Status"
	if got := v2.Paths["/api/v1/namespaces/{name}"].Delete.Responses["200"].Schema.Ref; got != status {
		t.Errorf("the deletion of a namespace is answered with %s, want %s", got, status)
	}
}
