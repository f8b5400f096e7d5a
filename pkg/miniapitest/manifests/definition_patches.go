package manifests

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// CheckWholeDefinition returns an error if a definition is only a patch for kustomize. envtest uses the same rule.
func CheckWholeDefinition(u *unstructured.Unstructured) error {
	if !IsDefinition(u.GroupVersionKind()) {
		return nil
	}
	for _, field := range []string{"group", "names"} {
		// An error means that the field has the wrong type. The server reports such a field.
		if _, found, err := unstructured.NestedFieldNoCopy(u.Object, "spec", field); !found && err == nil {
			return fmt.Errorf("spec.%s must be set", field)
		}
	}
	return nil
}

// ApplyPatches applies the patches among the objects to the definitions, and returns the definitions.
func ApplyPatches(objects []Object) ([]Object, error) {
	isPatch := func(o Object) bool { return CheckWholeDefinition(o.Unstructured) != nil }
	definitions := slices.DeleteFunc(slices.Clone(objects), isPatch)
	for _, patch := range slices.DeleteFunc(objects, func(o Object) bool { return !isPatch(o) }) {
		found := false
		for i, definition := range definitions { // two paths may give the same definition, and both must be patched
			if definition.GetName() != patch.GetName() {
				continue
			}
			found = true
			definitions[i].Unstructured = &unstructured.Unstructured{Object: merged(definition.Object, patch.Object)}
			definitions[i].Content = nil
		}
		if !found {
			return nil, fmt.Errorf("%s: CustomResourceDefinition %s: %w; if the document is a patch for kustomize, name the file of the definition too",
				patch.Source, patch.GetName(), CheckWholeDefinition(patch.Unstructured))
		}
	}
	return definitions, nil
}

// merged returns a copy of an object with a JSON merge patch (RFC 7386). It doesn't change the object, because the
// cache of files may share it.
func merged(object, patch map[string]any) map[string]any {
	result := map[string]any{}
	maps.Copy(result, object)
	for field, value := range patch {
		change, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(result, field)
		case isMap:
			below, _ := object[field].(map[string]any)
			result[field] = merged(below, change)
		default:
			result[field] = value
		}
	}
	return result
}
