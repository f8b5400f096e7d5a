package customresources

import (
	"bytes"
	"io"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// storeDefinitions makes the server store CustomResourceDefinitions as kube-apiserver does: in JSON, and in version
// v1beta1. A definition in v1beta1 has only one schema if all of its versions have the same schema. The argument stored
// remembers the specs that were stored last.
func storeDefinitions(etcd *genericoptions.EtcdOptions, stored *specs) {
	codec := crdserver.Codecs.LegacyCodec(apiextensionsv1beta1.SchemeGroupVersion, apiextensionsv1.SchemeGroupVersion)
	stored.decode = func(data []byte) (*apiextensions.CustomResourceDefinition, error) {
		crd := &apiextensions.CustomResourceDefinition{}
		return crd, runtime.DecodeInto(codec, data, crd)
	}
	etcd.StorageConfig.Codec = definitionCodec{codec, stored}
	etcd.StorageConfig.EncodeVersioner = runtime.NewMultiGroupVersioner(apiextensionsv1beta1.SchemeGroupVersion, schema.GroupKind{Group: apiextensionsv1beta1.GroupName})
}

// definitionCodec is the codec of stored definitions. If it remembers the spec of a definition, it copies this spec,
// because decoding takes longer.
//
// The codec also corrects definitions that an earlier version of miniapi stored in protobuf. In protobuf, the fields
// additionalProperties and additionalItems have a schema and a boolean. Typed clients set the schema and leave the
// boolean false, although a schema means that additional properties are allowed. Decode sets the boolean to true. JSON
// needs no correction, because a field in JSON is either a schema or a boolean.
type definitionCodec struct {
	runtime.Codec
	stored *specs
}

// Encode implements runtime.Encoder.
func (c definitionCodec) Encode(obj runtime.Object, w io.Writer) error {
	data, err := runtime.Encode(c.Codec, obj)
	if err != nil {
		return err
	}
	c.stored.remember(data)
	_, err = w.Write(data)
	return err
}

// Decode implements runtime.Decoder.
func (c definitionCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if rest, stored := c.stored.of(data); stored != nil {
		if spec, err := stored.internal(); err == nil {
			obj, kind, err := c.Codec.Decode(rest, defaults, into)
			// If status.storedVersions is empty, the codec must derive it from the spec. The definition in rest has
			// no spec, so the whole definition is decoded below.
			if crd, ok := obj.(*apiextensions.CustomResourceDefinition); ok && err == nil && len(crd.Status.StoredVersions) > 0 {
				crd.Spec = *spec.DeepCopy()
				return obj, kind, nil
			}
		}
	}
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

// allowBySchema sets the booleans that allow additional properties and items wherever there is a schema for them.
func allowBySchema(v *apiextensions.CustomResourceValidation) {
	if v == nil {
		return
	}
	var found []*apiextensions.JSONSchemaPropsOrBool
	// The predicate of SchemaHas must not change the schema, so the changes come after the traversal.
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
