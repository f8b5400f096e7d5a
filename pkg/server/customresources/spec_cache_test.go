package customresources

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// codecOf returns the codec with which definitions are stored, and the specs that the codec remembers.
func codecOf() (runtime.Codec, *specs) {
	stored := &specs{}
	etcd := genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", nil))
	storeDefinitions(etcd, stored)
	return etcd.StorageConfig.Codec, stored
}

// storedGears returns a definition in its internal form, with strings that look like JSON.
func storedGears(t *testing.T, description string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "gears.example.com", Annotations: map[string]string{"note": `a "spec": {}, or \"spec\":`},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:group":{}}}`)}},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gears", Singular: "gear", Kind: "Gear", ListKind: "GearList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Description: description,
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object"},
						"status": {Type: "object", Default: &apiextensionsv1.JSON{Raw: []byte(`{}`)}}},
				}},
			}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	}
	crdserver.Scheme.Default(crd)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := crdserver.Scheme.Convert(crd, internal, nil); err != nil {
		t.Fatal(err)
	}
	return internal
}

// TestRememberedSpecIsDecoded checks that decoding gives the same result with a remembered spec as without it. A
// caller may change the result without an effect on later results.
func TestRememberedSpecIsDecoded(t *testing.T) {
	t.Parallel()
	codec, stored := codecOf()
	fresh, _ := codecOf() // a new codec remembers no spec, so it decodes everything
	data, err := runtime.Encode(codec, storedGears(t, `a quote " and }`))
	if err != nil {
		t.Fatal(err)
	}
	decode := func(codec runtime.Codec, data []byte) *apiextensions.CustomResourceDefinition {
		t.Helper()
		crd := &apiextensions.CustomResourceDefinition{}
		if err := runtime.DecodeInto(codec, data, crd); err != nil {
			t.Fatal(err)
		}
		return crd
	}
	want := decode(fresh, data)
	for range 2 {
		got := decode(codec, data)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the definition isn't what was stored: %s", diff)
		}
		got.Spec.Group = "changed.com"
		got.Spec.Versions[0].Name = "changed"
		got.Spec.Validation.OpenAPIV3Schema.Properties["spec"] = apiextensions.JSONSchemaProps{Type: "changed"}
	}
	// Write the definition again, with the same spec and another status.
	judged := decode(codec, data)
	judged.Status.AcceptedNames = judged.Spec.Names
	later, err := runtime.Encode(codec, judged)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(fresh, later), decode(codec, later)); diff != "" {
		t.Errorf("the later definition isn't what was stored: %s", diff)
	}
	if n := len(stored.last); n != 1 {
		t.Errorf("%d specs are remembered, want the one of both writes", n)
	}
}

// TestRememberedSpecIsShared checks that the informer's definitions share a remembered spec. The spec must have the
// same form as after a conversion to v1.
func TestRememberedSpecIsShared(t *testing.T) {
	t.Parallel()
	codec, stored := codecOf()
	data, err := runtime.Encode(codec, storedGears(t, "gears"))
	if err != nil {
		t.Fatal(err)
	}
	decode := func(data []byte) (runtime.Object, error) {
		crd := &apiextensions.CustomResourceDefinition{}
		return crd, runtime.DecodeInto(codec, data, crd)
	}
	whole, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	want := &apiextensionsv1.CustomResourceDefinition{}
	if err := crdserver.Scheme.Convert(whole, want, nil); err != nil {
		t.Fatal(err)
	}
	var served []*apiextensionsv1.CustomResourceDefinition
	for range 2 {
		crd, err := stored.decodeServed(data, decode)
		if err != nil || crd == nil {
			t.Fatalf("got %v, %v, want the definition", crd, err)
		}
		if diff := cmp.Diff(want.Spec, crd.Spec); diff != "" {
			t.Errorf("the spec isn't what was stored: %s", diff)
		}
		if diff := cmp.Diff(want.ObjectMeta, crd.ObjectMeta); diff != "" {
			t.Errorf("the metadata isn't what was stored: %s", diff)
		}
		served = append(served, crd)
	}
	if &served[0].Spec.Versions[0] != &served[1].Spec.Versions[0] {
		t.Error("each event has a spec of its own")
	}
	foreign, err := runtime.Encode(codec, storedGears(t, "not remembered any more"))
	if err != nil {
		t.Fatal(err)
	}
	stored.last = nil
	if crd, err := stored.decodeServed(foreign, decode); crd != nil || err != nil {
		t.Errorf("got %v, %v for a spec that isn't remembered", crd, err)
	}
}

// TestRememberedSpecsAreBounded checks that only the specs of the last writes are remembered.
func TestRememberedSpecsAreBounded(t *testing.T) {
	t.Parallel()
	codec, stored := codecOf()
	var written [][]byte
	for n := range mostSpecs + 2 {
		data, err := runtime.Encode(codec, storedGears(t, fmt.Sprint("gears ", n)))
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, data)
		stored.remember(written[0]) // this spec stays, because it is written again and again
	}
	if len(stored.last) != mostSpecs {
		t.Errorf("%d specs are remembered, want %d", len(stored.last), mostSpecs)
	}
	for n, want := range map[int]bool{0: true, 1: false, 2: false, 3: true, mostSpecs + 1: true} {
		if _, found := stored.of(written[n]); (found != nil) != want {
			t.Errorf("spec %d is remembered: %t, want %t", n, found != nil, want)
		}
	}
}

func TestWithoutSpec(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, data string
		spec               string
	}{
		{"whole", "a stored definition has its spec between metadata and status",
			`{"metadata":{"name":"a"},"spec":{"group":"g"},"status":{}}`, `{"group":"g"}`},
		{"last", "the end of the definition ends the spec, too", `{"metadata":{},"spec":{"a":[1,{"b":2}]}}`, `{"a":[1,{"b":2}]}`},
		{"null", "a spec needn't be an object", `{"spec":null,"status":{}}`, `null`},
		{"nested", "a field of another object isn't the definition's",
			`{"metadata":{"spec":{}},"spec":{"spec":1},"status":{"spec":{}}}`, `{"spec":1}`},
		{"quoted", "text isn't structure", `{"a":"\"spec\":{}","b":"\\","spec":{"c":"}\\\"}"},"status":{}}`, `{"c":"}\\\"}"}`},
		{"none", "another object has no spec", `{"metadata":{"name":"spec"},"data":{"a":"spec"}}`, ""},
		{"broken", "data that isn't JSON is left to the decoder's error", `{"spec":{"a":"`, ""},
		{"protobuf", "data of earlier versions isn't JSON", "k8s\x00\n\x0f", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rest, spec, ok := withoutSpec([]byte(test.data))
			if ok != (test.spec != "") || string(spec) != test.spec {
				t.Errorf("got %q, %t, want %q: %s", spec, ok, test.spec, test.reason)
			}
			if ok && !json.Valid(rest) {
				t.Errorf("%s is no JSON without its spec", rest)
			}
		})
	}
}
