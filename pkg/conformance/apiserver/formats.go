package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// formats has the cases about the media types and forms of answers that a client can request, and about discovery and
// OpenAPI documents.
var formats = sourced(concepts+"Receiving resources as Tables", []trial.Test{
	{
		ID: "format.table", Promise: "A list can be a Table, with columns, and a row for each object.",
		Run: func(t *trial.T) {
			three(t)
			a := t.Do(trial.Request{Verb: http.MethodGet, Path: t.Path(trial.ConfigMaps, ""), Query: []string{own}, Header: accept("application/json;as=Table;v=v1;g=meta.k8s.io")})
			t.Equal("kind", "Table", a.OK()["kind"])
			t.Equal("rows", 3, len(a.Object.List("rows")))
			t.True(len(a.Object.List("columnDefinitions")) > 0, "columns", "none")
		},
	},
	{
		ID: "format.metadata", Promise: "A list can have only the metadata of its objects.",
		Run: func(t *trial.T) {
			three(t)
			a := t.Do(trial.Request{Verb: http.MethodGet, Path: t.Path(trial.ConfigMaps, ""), Query: []string{own}, Header: accept("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")})
			t.Equal("kind", "PartialObjectMetadataList", a.OK()["kind"])
			for _, o := range a.Object.Objects("items") {
				t.True(!o.Has("data"), "no data", "data")
				t.True(o.Text("metadata.uid") != "", "a uid", "none")
			}
		},
	},
	{
		ID: "format.protobuf", Promise: "An object of a built-in kind can be read as protobuf.",
		Source: concepts + "Alternate representations of resources",
		Run: func(t *trial.T) {
			three(t)
			a := t.Do(trial.Request{Verb: http.MethodGet, Path: t.Path(trial.ConfigMaps, "a"), Header: accept("application/vnd.kubernetes.protobuf")})
			t.Equal("the code", http.StatusOK, a.Code)
			t.Equal("content type", "application/vnd.kubernetes.protobuf", a.Header.Get("Content-Type"))
			t.True(strings.HasPrefix(string(a.Body), "k8s\x00"), `a body that begins with "k8s"`, fmt.Sprintf("%.10q", a.Body))
		},
	},
	{
		ID:      "format.unknown",
		Promise: "A request for a representation that the server doesn't have is answered with 406.",
		Source:  concepts + "Alternate representations of resources",
		Run: func(t *trial.T) {
			t.Do(trial.Request{Verb: http.MethodGet, Path: t.Path(trial.ConfigMaps, ""), Header: accept("text/csv")}).Refused(http.StatusNotAcceptable)
		},
	},
	{
		ID: "format.yaml", Promise: "An object can be sent and read as YAML.", Source: concepts + "Alternate representations of resources",
		Run: func(t *trial.T) {
			t.Do(trial.Request{Verb: http.MethodPost, Path: t.Path(trial.ConfigMaps, ""), Type: "application/yaml", Body: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  key: value\n")}).OK()
			a := t.Do(trial.Request{Verb: http.MethodGet, Path: t.Path(trial.ConfigMaps, "a"), Header: accept("application/yaml")})
			t.Contains("the body", "key: value", string(a.Body))
		},
	},
	{
		ID:      "format.discovery",
		Promise: "Discovery lists every resource with kind, scope and verbs, and its parts agree.",
		Source:  concepts + "API Discovery",
		Run: func(t *trial.T) {
			list := t.Do(trial.Request{Verb: http.MethodGet, Path: "/api/v1"}).OK()
			t.Equal("kind", "APIResourceList", list["kind"])
			for _, r := range list.Objects("resources") {
				t.True(r.Text("kind") != "" && len(r.List("verbs")) > 0, "kind and verbs of "+r.Text("name"), fmt.Sprint(r))
			}
			aggregated := t.Do(trial.Request{Verb: http.MethodGet, Path: "/apis", Header: accept("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json")}).OK()
			t.Equal("kind of aggregated discovery", "APIGroupDiscoveryList", aggregated["kind"])
		},
	},
	{
		ID: "format.openapi", Promise: "The server publishes OpenAPI v3 documents of its groups.", Source: concepts + "API Discovery",
		Run: func(t *trial.T) {
			root := t.Do(trial.Request{Verb: http.MethodGet, Path: "/openapi/v3"}).OK()
			t.True(root.At("paths.api/v1") != nil, "the path api/v1", "it isn't there")
		},
	},
	{
		ID:      "format.openapi.resources",
		Promise: "The OpenAPI v3 document of each group and version has a path for each of its resources and subresources in discovery.",
		Source:  concepts + "API Discovery", Cost: 2 * time.Second,
		Run: func(t *trial.T) {
			root := t.Do(trial.Request{Verb: http.MethodGet, Path: "/openapi/v3"}).OK()
			paths := map[string]trial.Object{}
			for _, r := range t.Server.Resources {
				prefix := "apis/" + r.GroupVersion()
				if r.Group == "" {
					prefix = "api/" + r.Version
				}
				// Another run may define or remove a custom resource at the same time.
				if strings.HasPrefix(r.Group, trial.Prefix) {
					continue
				}
				if paths[prefix] == nil {
					relative, _ := root.Sub("paths")[prefix].(map[string]any)
					if !t.True(relative != nil, "a document of "+prefix, "none") {
						paths[prefix] = trial.Object{}
						continue
					}
					url := trial.Object(relative).Text("serverRelativeURL")
					file, query, _ := strings.Cut(url, "?")
					paths[prefix] = t.Do(trial.Request{Verb: http.MethodGet, Path: file, Query: []string{query}}).OK().Sub("paths")
				}
				path := "/" + prefix + "/"
				if r.Namespaced {
					path += "namespaces/{namespace}/"
				}
				path += r.Name
				if r.Subresource != "" {
					path += "/{name}/" + r.Subresource
				}
				t.True(paths[prefix][path] != nil, "the path "+path, "none")
			}
		},
	},
	{
		ID:      "format.openapi.unserved",
		Promise: "A group or version that isn't served has no OpenAPI document: the answer is 404.",
		Source:  concepts + "API Discovery",
		Run: func(t *trial.T) {
			for _, path := range []string{"apis/conformance.invalid/v1", "api/v9", "apis/apps/v9"} {
				t.Do(trial.Request{Verb: http.MethodGet, Path: "/openapi/v3/" + path}).Refused(http.StatusNotFound)
			}
		},
	},
})

func accept(mediaType string) http.Header { return http.Header{"Accept": {mediaType}} }
