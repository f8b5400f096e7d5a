package registry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
)

var _ storage.AttrFunc = (&Kind{}).Attributes

// Fields are the fields of a kind that field selectors can use. FieldsOf implements it.
type Fields interface {
	// name returns the key of a field in the result of the method set. label is the name of the field in a client's field
	// selector, which may differ between the group versions of a kind. For an unknown label, name returns false.
	name(version schema.GroupVersion, label string) (string, bool)
	unsupported(gvk schema.GroupVersionKind, label string) error
	set(obj runtime.Object) fields.Set
	namespaceSelectable() bool
}

// FieldsOf are the selectable fields of the kind T, besides metadata.name and metadata.namespace.
type FieldsOf[T runtime.Object] struct {
	// Values returns the values of an object's fields. A field selector matches an object by these values.
	Values func(T) fields.Set
	// Names are the labels in field selectors that are also keys of the map from Values, such as status.phase.
	Names []string
	// Aliases maps the other labels in field selectors to keys of the map from Values.
	Aliases map[string]string
	// Through replaces Names and Aliases for requests through certain group versions. It maps all field labels of the
	// version to keys of the map from Values.
	Through map[schema.GroupVersion]map[string]string
	// NoNamespace makes field selectors with metadata.namespace unsupported.
	NoNamespace bool
	// Unsupported is the format of the error about a field label that the kind doesn't support. %[1]s is the label,
	// and %[2]s is the kind.
	Unsupported string
}

// unsupportedField is the default format of the error about an unsupported field label.
const unsupportedField = "field label not supported: %[1]s"

func (f FieldsOf[T]) name(version schema.GroupVersion, label string) (string, bool) {
	if names, ok := f.Through[version]; ok {
		name, ok := names[label]
		return name, ok
	}
	for _, n := range f.Names {
		if n == label {
			return n, true
		}
	}
	name, ok := f.Aliases[label]
	return name, ok
}

func (f FieldsOf[T]) unsupported(gvk schema.GroupVersionKind, label string) error {
	text := f.Unsupported
	if text == "" {
		text = unsupportedField
	}
	return fmt.Errorf(text, label, gvk)
}

func (f FieldsOf[T]) namespaceSelectable() bool { return !f.NoNamespace }

func (f FieldsOf[T]) set(obj runtime.Object) fields.Set { return f.Values(obj.(T)) }

// fieldLabelConversion returns the function that converts the field labels of a group version to keys of the map from
// FieldsOf.Values. It returns nil for a kind without selectable fields.
func (k *Kind) fieldLabelConversion(gvk schema.GroupVersionKind) runtime.FieldLabelConversionFunc {
	if k.Fields == nil {
		return nil
	}
	return func(label, value string) (string, string, error) {
		if label == "metadata.name" || label == "metadata.namespace" && k.Namespaced && k.Fields.namespaceSelectable() {
			return label, value, nil
		}
		name, ok := k.Fields.name(gvk.GroupVersion(), label)
		if !ok {
			return "", "", k.Fields.unsupported(gvk, label)
		}
		return name, value, nil
	}
}

// Attributes implements storage.AttrFunc: it returns the labels and the fields by which selectors match an object.
func (k *Kind) Attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	set := fields.Set{}
	if k.Fields != nil {
		set = k.Fields.set(obj)
	}
	m := MetaOf(obj)
	set["metadata.name"] = m.GetName()
	if k.Namespaced {
		set["metadata.namespace"] = m.GetNamespace()
	}
	return m.GetLabels(), set, nil
}
