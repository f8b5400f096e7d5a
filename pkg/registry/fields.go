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
	// name is what the values call the field that a selector of the group version
	// calls label.
	name(version schema.GroupVersion, label string) (string, bool)
	unsupported(gvk schema.GroupVersionKind, label string) error
	set(obj runtime.Object) fields.Set
}

// FieldsOf are the selectable fields of kind T besides metadata.name and
// metadata.namespace.
type FieldsOf[T runtime.Object] struct {
	// Values gives the fields' values.
	Values func(T) fields.Set
	// Names are the labels that selectors may use.
	Names []string
	// Aliases are further labels, each with the name that its value goes by.
	Aliases map[string]string
	// Through has, for requests through group versions that differ in it, all the
	// labels that selectors may use, each with the name that its value goes by.
	Through map[schema.GroupVersion]map[string]string
	// Unsupported is the answer to any other label, which it shows as %[1]s, the kind
	// being %[2]s.
	Unsupported string
}

// unsupportedField is what most kinds answer to a label that they don't have.
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

// fieldLabelConversion is how selectors of a group version name the row's fields. It
// is nil for rows without fields of their own.
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

// Attributes is the row's storage.AttrFunc: what selectors are matched with.
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
