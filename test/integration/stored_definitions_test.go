package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// gauges is a CustomResourceDefinition whose schema has values that some encodings can't represent.
const gauges = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gauges.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gauges, kind: Gauge, shortNames: [ga], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Limit, type: string, jsonPath: .spec.limit}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            default: {}
            x-kubernetes-validations: [{rule: "!has(self.unit) || self.unit != 'none'", message: "what is it measured in?"}]
            properties:
              unit: {type: string, default: K, enum: [K, none, ""]}
              limit: {x-kubernetes-int-or-string: true, default: 0, anyOf: [{type: integer}, {type: string}]}
              share: {type: number, minimum: 0, exclusiveMaximum: true, maximum: 1, default: 0.5, example: 0.25}
              "on": {type: boolean, default: false, nullable: true}
              names: {type: array, items: {type: string}, default: [], x-kubernetes-list-type: set, minItems: 0}
              labels: {type: object, additionalProperties: {type: string}, default: {"": ""}}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true, externalDocs: {url: https://example.com}}
`

// The server stores CustomResourceDefinitions in JSON, also with another --storage-media-type. Clients read a
// definition as it was written.
func TestStoredDefinitions(t *testing.T) {
	t.Parallel()
	given := &unstructured.Unstructured{}
	ok(t, given.UnmarshalJSON(must(yaml.YAMLToJSON([]byte(gauges)))(t)))
	data := t.TempDir()
	for _, test := range []struct{ name, mediaType, reason string }{
		{"written", "application/json", "JSON is the media type of definitions"},
		{"read", "application/vnd.kubernetes.protobuf", "protobuf is the default"},
		{"read again", "application/json", "a change of the flag leaves the folder readable"},
		{"read without a type", "", "the library's default is JSON"},
	} {
		srv := must(miniapitest.New(t.Context(), miniapitest.WithDataDir(data), inprocess.WithServerOptions(func(o *server.Options) {
			o.Etcd.DefaultStorageMediaType = test.mediaType
		})))(t)
		definitions := clusterResources(srv, "apiextensions.k8s.io/v1", "customresourcedefinitions")
		if test.name == "written" {
			must(definitions.Create(t.Context(), given, metav1.CreateOptions{}))(t)
		}
		stored := must(definitions.Get(t.Context(), given.GetName(), metav1.GetOptions{}))(t)
		stored.SetLabels(map[string]string{"last": strings.ReplaceAll(test.name, " ", "-")})
		stored = must(definitions.Update(t.Context(), stored, metav1.UpdateOptions{}))(t)
		if diff := cmp.Diff(schemaOf(given), schemaOf(stored)); diff != "" {
			t.Errorf("%s: %s: the schema has changed (-given +stored):\n%s", test.name, test.reason, diff)
		}
		gauge := object("example.com/v1", "Gauge", "g", nil)
		gauge.SetGenerateName("g-")
		gauge.SetName("")
		created := must(resources(srv, "example.com/v1", "gauges").Create(t.Context(), gauge, metav1.CreateOptions{}))(t)
		want := map[string]any{"unit": "K", "limit": int64(0), "share": 0.5, "on": false, "names": []any{}, "labels": map[string]any{"": ""}}
		if diff := cmp.Diff(want, fieldOf(created, "spec")); diff != "" {
			t.Errorf("%s: %s: defaults (-want +got):\n%s", test.name, test.reason, diff)
		}
		ok(t, srv.Stop())
	}
}

func schemaOf(definition *unstructured.Unstructured) any {
	versions, _ := fieldOf(definition, "spec", "versions").([]any)
	return versions[0]
}

// A typed client can send a CustomResourceDefinition in protobuf. The definition then means the same as in JSON:
// a schema in additionalProperties allows additional properties, even if the Go field Allows is false.
func TestDefinitionsInProtobuf(t *testing.T) {
	t.Parallel()
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	open := apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}}
	nested := apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &open}}
	srv := miniapitest.Start(t)
	config := srv.Config()
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client := must(apiextensions.NewForConfig(config))(t)
	must(client.CustomResourceDefinitions().Create(t.Context(), &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "maps.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "maps", Kind: "Map"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"texts": open, "pages": {
						Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &nested},
					}},
				}},
			}},
		},
	}, metav1.CreateOptions{}))(t)
	texts := map[string]any{"a": "b"}
	must(resources(srv, "example.com/v1", "maps").Create(t.Context(), object("example.com/v1", "Map", "m", map[string]any{
		"texts": texts, "pages": []any{map[string]any{"one": texts}},
	}), metav1.CreateOptions{}))(t)
}

// When controllers change other conditions of a CustomResourceDefinition, the time of its condition Established
// stays the same.
func TestEstablishedSince(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	define(t, srv, "gears", "Gear", "v1")
	definitions := clusterResources(srv, "apiextensions.k8s.io/v1", "customresourcedefinitions")
	before := conditions(t, definitions)
	held := object("example.com/v1", "Gear", "held", nil)
	held.SetFinalizers([]string{"example.com/held"})
	must(resources(srv, "example.com/v1", "gears").Create(t.Context(), held, metav1.CreateOptions{}))(t)
	ok(t, definitions.Delete(t.Context(), "gears.example.com", metav1.DeleteOptions{}))
	eventually(t, func(context.Context) error {
		after := conditions(t, definitions)
		if reason := after["Terminating"].reason; reason != "InstanceDeletionInProgress" {
			return fmt.Errorf("want the controllers to have begun to delete, got %q", reason)
		}
		if after["Established"] != before["Established"] {
			t.Errorf("want it to be established as it was, %v, got %v", before["Established"], after["Established"])
		}
		return nil
	})
}

type condition struct{ reason, since string }

func conditions(t *testing.T, definitions dynamic.ResourceInterface) map[string]condition {
	t.Helper()
	definition := must(definitions.Get(t.Context(), "gears.example.com", metav1.GetOptions{}))(t)
	all := map[string]condition{}
	list, _ := fieldOf(definition, "status", "conditions").([]any)
	for _, c := range list {
		c := c.(map[string]any)
		all[c["type"].(string)] = condition{c["reason"].(string), c["lastTransitionTime"].(string)}
	}
	return all
}
