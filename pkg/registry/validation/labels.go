package validation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const selectorMismatch = "`selector` does not match template `labels`"

// LabelSelector checks a selector's form.
func LabelSelector(path *field.Path, s *metav1.LabelSelector) field.ErrorList {
	return metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, path)
}

// requiredSelector checks a selector that has to be there and select something.
func requiredSelector(path *field.Path, s *metav1.LabelSelector, kind string) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	errs := LabelSelector(path, s)
	if isEmptySelector(s) {
		errs = append(errs, field.Invalid(path, s, "empty selector is invalid for "+kind))
	}
	return errs
}

func isEmptySelector(s *metav1.LabelSelector) bool {
	return len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// SelectsTemplate checks that a controller selects the pods that it creates. A selector
// that is not there selects nothing.
func SelectsTemplate(template *field.Path, s labels.Selector, l map[string]string) field.ErrorList {
	if s.Matches(labels.Set(l)) {
		return nil
	}
	return field.ErrorList{field.Invalid(template.Child("metadata", "labels"), l, selectorMismatch)}
}
