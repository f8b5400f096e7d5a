package registry

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serializer returns Codecs with other decoders: they clear apiVersion and kind of a hub object, as conversions to the
// hub do. The hub is the version to which all other versions convert, see the package comment.
//
// With the decoders of Codecs, a decoded object and a converted object would differ, and the server would store updates
// that change nothing.
func (t *Table) Serializer() runtime.StorageSerializer { return hubSerializer{t.Codecs()} }

type hubSerializer struct{ runtime.StorageSerializer }

// DecoderToVersion implements runtime.StorageSerializer and runtime.NegotiatedSerializer. The decoder clears the
// apiVersion and kind of decoded objects. The argument gv always stands for the hub, because a server decodes to no
// other version.
func (s hubSerializer) DecoderToVersion(decoder runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return hubDecoder{s.StorageSerializer.DecoderToVersion(decoder, gv)}
}

// hubDecoder clears the apiVersion and kind of decoded objects. k8s.io/apimachinery clears them only if the version of
// the data differs from the hub (the version to which all other versions convert).
type hubDecoder struct{ runtime.Decoder }

func (d hubDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := d.Decoder.Decode(data, defaults, into)
	if obj != nil {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return obj, gvk, err
}

// UnsafeConvertor returns the convertor of Scheme. Its results may share memory with the originals, but it never
// changes an original. runtime.UnsafeObjectConvertor changes an original that has the requested Go type already: it
// sets apiVersion and kind, which must be empty in the server's objects.
func (t *Table) UnsafeConvertor() runtime.ObjectConvertor { return unsafeConvertor{t.scheme} }

type unsafeConvertor struct{ *runtime.Scheme }

// ConvertToVersion implements runtime.ObjectConvertor.
func (c unsafeConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	original := reflect.ValueOf(in).Elem()
	shallow := reflect.New(original.Type())
	shallow.Elem().Set(original)
	return c.UnsafeConvertToVersion(shallow.Interface().(runtime.Object), target)
}
