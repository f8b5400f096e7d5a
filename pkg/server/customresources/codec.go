package customresources

import (
	"bytes"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// storeDefinitions makes the server store CustomResourceDefinitions as kube-apiserver does: in JSON and in v1beta1,
// which has one schema for versions with the same schema.
func storeDefinitions(etcd *genericoptions.EtcdOptions) {
	etcd.StorageConfig.Codec = definitionCodec{crdserver.Codecs.LegacyCodec(apiextensionsv1beta1.SchemeGroupVersion, apiextensionsv1.SchemeGroupVersion)}
	etcd.StorageConfig.EncodeVersioner = runtime.NewMultiGroupVersioner(apiextensionsv1beta1.SchemeGroupVersion, schema.GroupKind{Group: apiextensionsv1beta1.GroupName})
}

// definitionCodec gives a definition that was stored in protobuf, as in data folders of earlier versions, the meaning that
// the definition has in JSON. JSON has either a schema or a boolean for further properties, and a schema allows
// them. Protobuf has both, and typed clients send the schema without the boolean.
type definitionCodec struct{ runtime.Codec }

// Decode implements runtime.Decoder.
func (c definitionCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, kind, err := c.Codec.Decode(data, defaults, into)
	if crd, ok := obj.(*apiextensions.CustomResourceDefinition); ok && err == nil && !isJSON(data) {
		allowBySchema(crd.Spec.Validation)
		for i := range crd.Spec.Versions {
			allowBySchema(crd.Spec.Versions[i].Schema)
		}
	}
	return obj, kind, err
}

func isJSON(data []byte) bool { return bytes.HasPrefix(data, []byte("{")) }

// allowBySchema allows the further properties and items for which there is a schema.
func allowBySchema(v *apiextensions.CustomResourceValidation) {
	if v == nil {
		return
	}
	var found []*apiextensions.JSONSchemaPropsOrBool
	// A change of a schema during the traversal would be an error.
	validation.SchemaHas(v.OpenAPIV3Schema, func(s *apiextensions.JSONSchemaProps) bool {
		for _, further := range []*apiextensions.JSONSchemaPropsOrBool{s.AdditionalProperties, s.AdditionalItems} {
			if further != nil && further.Schema != nil {
				found = append(found, further)
			}
		}
		return false
	})
	for _, further := range found {
		further.Allows = true
	}
}
