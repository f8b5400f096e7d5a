package registry

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serializer returns the serializers of Codecs for a server and its storage. Its decoders give an object of
// the hub neither group nor version nor kind: an internal type has no place for them, and a conversion to the
// hub clears them. Without that, the same object, decoded and converted, would differ from itself, and a
// request that changes nothing would be written.
func (t *Table) Serializer() runtime.StorageSerializer { return hubSerializer{t.Codecs()} }

type hubSerializer struct{ runtime.StorageSerializer }

// DecoderToVersion implements runtime.StorageSerializer and runtime.NegotiatedSerializer. The version is
// always the hub: a server and its storage decode to no other.
func (s hubSerializer) DecoderToVersion(decoder runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return hubDecoder{s.StorageSerializer.DecoderToVersion(decoder, gv)}
}

// hubDecoder clears the kind of what the library's decoder returns. That one leaves it where it converts
// nothing: where the data are of the Go type that they are decoded into.
type hubDecoder struct{ runtime.Decoder }

func (d hubDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := d.Decoder.Decode(data, defaults, into)
	if obj != nil {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return obj, gvk, err
}

// UnsafeConvertor returns a convertor of Scheme whose results may share memory with their originals.
// Originals stay as they are. runtime.UnsafeObjectConvertor would set the kind of an original that has the
// Go type of the result already, and so of an object of the hub.
func (t *Table) UnsafeConvertor() runtime.ObjectConvertor { return unsafeConvertor{t.scheme} }

type unsafeConvertor struct{ *runtime.Scheme }

// ConvertToVersion implements runtime.ObjectConvertor.
func (c unsafeConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	original := reflect.ValueOf(in).Elem()
	shallow := reflect.New(original.Type())
	shallow.Elem().Set(original)
	return c.UnsafeConvertToVersion(shallow.Interface().(runtime.Object), target)
}
