package customresources

import (
	"bytes"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// TestStoreDefinitions checks that a definition is stored as kube-apiserver stores it, and that a definition that an
// earlier version of miniapi stored can be read.
func TestStoreDefinitions(t *testing.T) {
	t.Parallel()
	etcd := genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", nil))
	storeDefinitions(etcd, &specs{})
	codec := etcd.StorageConfig.Codec
	definition := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "gauges.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: "v1",
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type:                 "object",
				AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}},
			}},
		}}},
	}

	old, err := runtime.Encode(protobuf.NewSerializer(crdserver.Scheme, crdserver.Scheme), definition)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := runtime.Decode(codec, old)
	if err != nil {
		t.Fatalf("a definition in protobuf: %v", err)
	}
	schema := decoded.(*apiextensions.CustomResourceDefinition).Spec.Validation
	if further := schema.OpenAPIV3Schema.AdditionalProperties; !further.Allows {
		t.Error("want a schema of further properties in protobuf to allow them, as in JSON")
	}

	stored, err := runtime.Encode(codec, decoded)
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte(`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1",`); !bytes.HasPrefix(stored, want) {
		t.Errorf("want %s…, got %.200s", want, stored)
	}
}
