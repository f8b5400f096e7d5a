package registry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// Fields are the selectable fields of a kind. FieldsOf implements it.
type Fields interface {
	// names are the labels that a selector of the group version may use, each with
	// the name that the values go by.
	names() map[string]string
	set(obj runtime.Object) fields.Set
}

// FieldsOf are the selectable fields of kind T besides metadata.name and
// metadata.namespace.
type FieldsOf[T runtime.Object] struct {
	// Values gives the fields' values.
	Values func(T) fields.Set
	// Names are the keys of Values.
	Names []string
	// Aliases are other names for the same, as old versions have them.
	Aliases map[string]string
}

func (f FieldsOf[T]) names() map[string]string {
	names := map[string]string{}
	for _, n := range f.Names {
		names[n] = n
	}
	for alias, n := range f.Aliases {
		names[alias] = n
	}
	return names
}

func (f FieldsOf[T]) set(obj runtime.Object) fields.Set { return f.Values(obj.(T)) }

// convertFieldLabel is the row's runtime.FieldLabelConversionFunc.
func (k *Kind) convertFieldLabel(label, value string) (string, string, error) {
	if label == "metadata.name" || label == "metadata.namespace" {
		return label, value, nil
	}
	if k.Fields != nil {
		if name, ok := k.Fields.names()[label]; ok {
			return name, value, nil
		}
	}
	return "", "", fmt.Errorf("field label not supported: %s", label)
}

// attributes is the row's storage.AttrFunc: what selectors are matched with.
func (k *Kind) attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	set := fields.Set{}
	if k.Fields != nil {
		set = k.Fields.set(obj)
	}
	m := objectMeta(obj)
	set["metadata.name"] = m.GetName()
	if k.Namespaced {
		set["metadata.namespace"] = m.GetNamespace()
	}
	return m.GetLabels(), set, nil
}

var _ storage.AttrFunc = (&Kind{}).attributes
