package registry

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serializer returns the serializers of Codecs for a server and its storage. Objects of the hub that they decode have
// no group, version or kind. A conversion to the hub clears these too. Otherwise a decoded object and a converted one
// would differ, and the server would store updates that change nothing.
func (t *Table) Serializer() runtime.StorageSerializer { return hubSerializer{t.Codecs()} }

type hubSerializer struct{ runtime.StorageSerializer }

// DecoderToVersion implements runtime.StorageSerializer and runtime.NegotiatedSerializer. The version is always the
// hub, because a server and its storage decode to no other version.
func (s hubSerializer) DecoderToVersion(decoder runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return hubDecoder{s.StorageSerializer.DecoderToVersion(decoder, gv)}
}

// hubDecoder clears the kind of decoded objects. The library's decoder leaves the kind if the data already have the
// requested Go type, because that needs no conversion.
type hubDecoder struct{ runtime.Decoder }

func (d hubDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := d.Decoder.Decode(data, defaults, into)
	if obj != nil {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return obj, gvk, err
}

// UnsafeConvertor returns a convertor of Scheme. Its results may share memory with the originals, but it doesn't change
// the originals. runtime.UnsafeObjectConvertor would set the kind of an original that already has the requested Go
// type, and so change objects of the hub.
func (t *Table) UnsafeConvertor() runtime.ObjectConvertor { return unsafeConvertor{t.scheme} }

type unsafeConvertor struct{ *runtime.Scheme }

// ConvertToVersion implements runtime.ObjectConvertor.
func (c unsafeConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	original := reflect.ValueOf(in).Elem()
	shallow := reflect.New(original.Type())
	shallow.Elem().Set(original)
	return c.UnsafeConvertToVersion(shallow.Interface().(runtime.Object), target)
}
