package registry

import (
	"errors"
	"path"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serializer returns Codecs with other decoders: they clear apiVersion and kind of a hub object, as conversions to the
// hub do. The hub is the version to which all other versions convert, see the package comment.
//
// With the decoders of Codecs, a decoded object and a converted object would differ, and the server would store updates
// that change nothing.
func (t *Table) Serializer() runtime.StorageSerializer { return hubSerializer{t.Codecs(), t} }

type hubSerializer struct {
	runtime.StorageSerializer
	table *Table
}

// DecoderToVersion implements runtime.StorageSerializer and runtime.NegotiatedSerializer. The decoder clears the
// apiVersion and kind of decoded objects. The argument gv always stands for the hub, because a server decodes to no
// other version.
func (s hubSerializer) DecoderToVersion(decoder runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return hubDecoder{s.StorageSerializer.DecoderToVersion(decoder, gv), s.table}
}

// hubDecoder clears the apiVersion and kind of decoded objects, and brings them into their canonical form.
// k8s.io/apimachinery converts an object, and clears them, only if the version of the data differs from the hub (the
// version to which all other versions convert).
type hubDecoder struct {
	runtime.Decoder
	table *Table
}

func (d hubDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := d.Decoder.Decode(data, defaults, into)
	if obj != nil {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	if err == nil {
		if err := d.table.canonicalize(obj); err != nil {
			return nil, gvk, err
		}
	}
	if err != nil && into != nil {
		err = unconvertible(err, reflect.TypeOf(into).Elem())
	}
	return obj, gvk, err
}

// unconvertible returns an error of a conversion to the hub with the name of kube-apiserver's internal type, such as
// core.ConfigMap: the package of an internal type has the name of the group. It returns other errors unchanged, because
// k8s.io/apimachinery compares their types.
func unconvertible(err error, hub reflect.Type) error {
	internal := path.Base(path.Dir(hub.PkgPath())) + "." + hub.Name()
	if text := strings.ReplaceAll(err.Error(), " to ("+hub.String()+"):", " to ("+internal+"):"); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// UnsafeConvertor returns the convertor of Scheme. Its results may share memory with the originals, but it never
// changes an original. runtime.UnsafeObjectConvertor changes an original that has the requested Go type already: it
// sets apiVersion and kind, which must be empty in the server's objects.
func (t *Table) UnsafeConvertor() runtime.ObjectConvertor { return unsafeConvertor{t.scheme, t} }

type unsafeConvertor struct {
	*runtime.Scheme
	table *Table
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (c unsafeConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	original := reflect.ValueOf(in).Elem()
	shallow := reflect.New(original.Type())
	shallow.Elem().Set(original)
	out, err := c.UnsafeConvertToVersion(shallow.Interface().(runtime.Object), target)
	if err != nil || !out.GetObjectKind().GroupVersionKind().Empty() { // only objects of the hub have no version
		return out, err
	}
	return out, c.table.canonicalize(out)
}

// canonicalize calls Kind.Canonical of the object's kind.
func (t *Table) canonicalize(obj runtime.Object) error {
	if canonical, ok := t.canonical[reflect.TypeOf(obj)]; ok {
		return canonical(obj)
	}
	return nil
}

// CanonicalOf returns a function for Kind.Canonical.
func CanonicalOf[T runtime.Object](canonical func(T) error) func(runtime.Object) error {
	return func(obj runtime.Object) error { return canonical(obj.(T)) }
}
