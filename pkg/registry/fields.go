package registry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
)

// Fields are the selectable fields of a kind. FieldsOf implements it.
type Fields interface {
	// name returns the name among the values of a label in a selector. Labels can differ between group versions.
	name(version schema.GroupVersion, label string) (string, bool)
	unsupported(gvk schema.GroupVersionKind, label string) error
	set(obj runtime.Object) fields.Set
}

// FieldsOf are the selectable fields of kind T, except metadata.name and metadata.namespace.
type FieldsOf[T runtime.Object] struct {
	// Values returns the fields' values by name.
	Values func(T) fields.Set
	// Names are the labels in selectors that are also names of values.
	Names []string
	// Aliases are further labels in selectors, with the names of their values.
	Aliases map[string]string
	// Through replaces Names and Aliases for requests through certain group versions. It has all labels in selectors,
	// with the names of their values.
	Through map[schema.GroupVersion]map[string]string
	// Unsupported is the error about any other label. In its format, %[1]s is the label and %[2]s is the kind.
	Unsupported string
}

// unsupportedField is the error of most kinds about an unknown label.
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

func (f FieldsOf[T]) set(obj runtime.Object) fields.Set { return f.Values(obj.(T)) }

// fieldLabelConversion returns the function that converts a group version's labels to names of values. For rows without
// Fields it returns nil.
func (k *Kind) fieldLabelConversion(gvk schema.GroupVersionKind) runtime.FieldLabelConversionFunc {
	if k.Fields == nil {
		return nil
	}
	return func(label, value string) (string, string, error) {
		if label == "metadata.name" || label == "metadata.namespace" && k.Namespaced {
			return label, value, nil
		}
		name, ok := k.Fields.name(gvk.GroupVersion(), label)
		if !ok {
			return "", "", k.Fields.unsupported(gvk, label)
		}
		return name, value, nil
	}
}

// Attributes is the row's storage.AttrFunc: it returns the labels and fields that selectors match.
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

var _ storage.AttrFunc = (&Kind{}).Attributes
