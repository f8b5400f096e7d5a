package validation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const selectorMismatch = "`selector` does not match template `labels`"

// LabelSelector checks a label selector.
func LabelSelector(path *field.Path, s *metav1.LabelSelector) field.ErrorList {
	return metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, path)
}

// SelectsTemplate checks that the selector of a controller matches the labels of its pod template. Otherwise the
// controller would never find the pods that it creates.
func SelectsTemplate(template *field.Path, s labels.Selector, l map[string]string) field.ErrorList {
	if s.Matches(labels.Set(l)) {
		return nil
	}
	return field.ErrorList{field.Invalid(template.Child("metadata", "labels"), l, selectorMismatch)}
}
