package customresources

import (
	"cmp"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
)

// storeDefinitions has CustomResourceDefinitions stored as other kinds are, in protobuf by default, and
// reads JSON as well: a schema is read and written a dozen times before it is served, and each level of it
// is parsed twice in JSON.
func storeDefinitions(etcd *genericoptions.EtcdOptions) error {
	version := apiextensionsv1.SchemeGroupVersion
	codec, versioner, err := serverstorage.NewStorageCodec(serverstorage.StorageCodecConfig{
		StorageMediaType:  cmp.Or(etcd.DefaultStorageMediaType, runtime.ContentTypeJSON), // as of other kinds
		StorageSerializer: crdserver.Codecs,
		StorageVersion:    version,
		MemoryVersion:     schema.GroupVersion{Group: version.Group, Version: runtime.APIVersionInternal},
	})
	if err != nil {
		return fmt.Errorf("--storage-media-type %s: %w", etcd.DefaultStorageMediaType, err)
	}
	etcd.StorageConfig.Codec, etcd.StorageConfig.EncodeVersioner = definitionCodec{codec}, versioner
	return nil
}

// definitionCodec gives a definition that was stored in protobuf the meaning that it has in JSON, in which
// kube-apiserver stores definitions. JSON has either a schema or a boolean for further properties, and a schema allows
// them. Protobuf has both, and typed clients send the schema without the boolean.
type definitionCodec struct{ runtime.Codec }

// Decode implements runtime.Decoder.
func (c definitionCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, kind, err := c.Codec.Decode(data, defaults, into)
	if crd, ok := obj.(*apiextensions.CustomResourceDefinition); ok && err == nil {
		allowBySchema(crd.Spec.Validation)
		for i := range crd.Spec.Versions {
			allowBySchema(crd.Spec.Versions[i].Schema)
		}
	}
	return obj, kind, err
}

// allowBySchema allows the further properties and items for which there is a schema.
func allowBySchema(v *apiextensions.CustomResourceValidation) {
	if v == nil {
		return
	}
	var found []*apiextensions.JSONSchemaPropsOrBool
	// The traversal lets no schema be changed meanwhile.
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
