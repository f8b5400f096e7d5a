package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// established returns an established definition with the versions v1, which is served, and v2, which isn't.
func established(kind, plural string, generation int64) *apiextensionsv1.CustomResourceDefinition {
	names := apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: plural}
	schema := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + ".example.com", UID: types.UID(plural), Generation: generation},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: names, Scope: apiextensionsv1.ClusterScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: schema},
				{Name: "v2", Schema: schema}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			AcceptedNames: names,
			Conditions:    []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}},
		},
	}
}

// After a change of one definition, only that definition is described again. The fragments add only the resource's own
// names to a document, and join to the same document in JSON and in protobuf.
func TestDescribe(t *testing.T) {
	t.Parallel()
	kinds, err := crdopenapi.BuildOpenAPIV2(established("Bolt", "bolts", 1), "v1", crdSpecOptions(true))
	if err != nil {
		t.Fatal(err)
	}
	kinds.Definitions = handler.PruneDefaults(kinds.Definitions)
	kinds.Definitions["com.example.v1.Gear"] = *spec.StringProperty()
	own, err := newFragment("own", kinds)
	if err != nil {
		t.Fatal(err)
	}
	definitions := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	resources := &customResources{definitions: crdlisters.NewCustomResourceDefinitionLister(definitions)}
	write := func(crd *apiextensionsv1.CustomResourceDefinition) {
		if err := definitions.Update(crd); err != nil {
			t.Fatal(err)
		}
	}
	write(established("Dial", "dials", 1))
	write(established("Gear", "gears", 1))
	first := resources.describe(kinds)
	write(established("Gear", "gears", 2))
	second := resources.describe(kinds)
	if len(first) != 2 || len(second) != 2 || first[0] != second[0] || first[1] == second[1] {
		t.Fatalf("want the fragment of the first resource to be kept, and the one of the second to be made anew: %v, %v", first, second)
	}

	document := &spec.Swagger{}
	encoded := joinJSON(append([]*fragment{own}, second...))
	if err := document.UnmarshalJSON(encoded); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"com.example.v1.Bolt", "com.example.v1.Dial", "com.example.v1.DialList", "com.example.v1.Gear", "com.example.v1.GearList", "com.example.v1.Gear_v2"} {
		if _, found := document.Definitions[name]; !found {
			t.Errorf("the document lacks the definition %s: it has %v", name, slices.Sorted(maps.Keys(document.Definitions)))
		}
	}
	list := document.Definitions["com.example.v1.GearList"].Properties["items"]
	if ref := list.Items.Schema.Ref.String(); ref != "#/definitions/com.example.v1.Gear_v2" {
		t.Errorf("the items of the list are %s, but a built-in kind has this name", ref)
	}

	joined, err := joinProtobuf(append([]*fragment{own}, second...))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := handler.ToProtoBinary(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(namesIn(t, whole), namesIn(t, joined)); diff != "" {
		t.Errorf("the document in protobuf differs from the document in JSON (-json +protobuf):\n%s", diff)
	}
	definitions.Delete(established("Gear", "gears", 2)) //nolint:errcheck // an indexer never fails
	if left := resources.describe(kinds); len(left) != 1 || len(resources.described) != 1 {
		t.Errorf("a deleted definition is described by %v, and %v is kept", left, resources.described)
	}
}

// namesIn returns the content of a document in protobuf by the names in its sections.
func namesIn(t *testing.T, document []byte) map[string]any {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName("openapi.v2.Document")
	if err != nil {
		t.Fatal(err)
	}
	message := kind.New().Interface()
	if err := proto.Unmarshal(document, message); err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	type named struct {
		Name  string
		Value any
	}
	var decoded struct {
		Definitions, Parameters struct{ AdditionalProperties []named }
		Paths                   struct{ Path []named }
	}
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	names := map[string]any{}
	for _, n := range slices.Concat(decoded.Definitions.AdditionalProperties, decoded.Parameters.AdditionalProperties, decoded.Paths.Path) {
		if names[n.Name] != nil {
			t.Errorf("the document has %s twice", n.Name)
		}
		names[n.Name] = n.Value
	}
	return names
}
