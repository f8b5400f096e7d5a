package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The OpenAPI documents v2 and v3 describe a custom resource as kube-apiserver's documents do. The v2 document
// differs from the v3 document, and clients rely on the differences.
func TestCustomResourceSpecs(t *testing.T) {
	t.Parallel()
	definition := &unstructured.Unstructured{}
	ok(t, yaml.Unmarshal([]byte(dials), &definition.Object))
	srv := miniapitest.Start(t, miniapitest.WithObjects(definition))
	client, err := kubernetes.NewForConfig(srv.Config())
	ok(t, err)
	for _, test := range []struct {
		name, path, reason string
		schemas            func(document map[string]any) map[string]any
		want               string
	}{
		{
			"v2", "/openapi/v2", "v2 can't express that a value may be null, and clients must not set defaults",
			func(document map[string]any) map[string]any { return document["definitions"].(map[string]any) }, `
colour: {type: string}
note: {}
number: {x-kubernetes-int-or-string: true}
`,
		},
		{
			"v3", "/openapi/v3/apis/example.com/v1", "v3 has the definition's whole schema",
			func(document map[string]any) map[string]any {
				return document["components"].(map[string]any)["schemas"].(map[string]any)
			}, `
colour: {type: string, default: red}
note: {type: string, nullable: true}
number: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var want, dial map[string]any
			ok(t, yaml.Unmarshal([]byte(test.want), &want))
			eventually(t, func(ctx context.Context) error { // the document appears some milliseconds after its definition
				data, err := client.Discovery().RESTClient().Get().AbsPath(test.path).SetHeader("Accept", "application/json").DoRaw(ctx)
				if err != nil {
					return err
				}
				var document map[string]any
				ok(t, json.Unmarshal(data, &document))
				var found bool
				if dial, found = test.schemas(document)["com.example.v1.Dial"].(map[string]any); !found {
					return errors.New("the OpenAPI document has no schema com.example.v1.Dial")
				}
				return nil
			})
			spec := dial["properties"].(map[string]any)["spec"].(map[string]any)["properties"]
			if diff := cmp.Diff(want, spec); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			// the extension of KEP-4358
			selectable := []any{map[string]any{"fieldPath": "spec.colour"}, map[string]any{"fieldPath": "spec.note"}}
			if diff := cmp.Diff(selectable, dial["x-kubernetes-selectable-fields"]); diff != "" {
				t.Errorf("clients can't tell which field selectors there are (-want +got):\n%s", diff)
			}
		})
	}
}

const dials = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: dials.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: dials, kind: Dial}
  versions:
  - name: v1
    served: true
    storage: true
    selectableFields: [{jsonPath: .spec.colour}, {jsonPath: .spec.note}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              colour: {type: string, default: red}
              note: {type: string, nullable: true}
              number: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
`
