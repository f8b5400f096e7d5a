package validation

import (
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SubjectAccessReview checks a question about a user.
func SubjectAccessReview(o *authorizationv1.SubjectAccessReview) field.ErrorList {
	f := Findings{accessReviewSpec(&o.Spec)}
	f.Merge(noMetadata(&o.ObjectMeta, false))
	return f.Errs
}

// SelfSubjectAccessReview checks a question about the one who asks.
func SelfSubjectAccessReview(o *authorizationv1.SelfSubjectAccessReview) field.ErrorList {
	f := Findings{accessAttributes(o.Spec.ResourceAttributes, o.Spec.NonResourceAttributes)}
	f.Merge(resourceSelectors(o.Spec.ResourceAttributes), noMetadata(&o.ObjectMeta, false))
	return f.Errs
}

// LocalSubjectAccessReview checks a question about a user in one namespace.
func LocalSubjectAccessReview(o *authorizationv1.LocalSubjectAccessReview) field.ErrorList {
	f := Findings{accessReviewSpec(&o.Spec)}
	f.Merge(noMetadata(&o.ObjectMeta, true))
	if a := o.Spec.ResourceAttributes; a != nil {
		f.AddIf(a.Namespace != o.Namespace,
			field.Invalid(field.NewPath("spec.resourceAttributes.namespace"), a.Namespace, "must match metadata.namespace"))
	}
	if a := o.Spec.NonResourceAttributes; a != nil {
		f.Add(field.Invalid(field.NewPath("spec.nonResourceAttributes"), Unversioned(a), "disallowed on this kind of request"))
	}
	return f.Errs
}

func accessReviewSpec(spec *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	f := Findings{accessAttributes(spec.ResourceAttributes, spec.NonResourceAttributes)}
	f.AddIf(spec.User == "" && len(spec.Groups) == 0,
		field.Invalid(field.NewPath("spec", "user"), spec.User, "at least one of user or group must be specified"))
	f.Merge(resourceSelectors(spec.ResourceAttributes))
	return f.Errs
}

// accessAttributes checks that a question is about a resource or a path.
func accessAttributes(r *authorizationv1.ResourceAttributes, n *authorizationv1.NonResourceAttributes) field.ErrorList {
	var f Findings
	spec := field.NewPath("spec")
	f.AddIf(r != nil && n != nil, field.Invalid(spec.Child("nonResourceAttributes"), Unversioned(n),
		"cannot be specified in combination with resourceAttributes"))
	f.AddIf(r == nil && n == nil, field.Invalid(spec.Child("resourceAttributes"), Unversioned(n),
		"exactly one of nonResourceAttributes or resourceAttributes must be specified"))
	return f.Errs
}

// resourceSelectors checks selectors (KEP-4601). An unknown operator is let through, as
// a newer client may know it.
func resourceSelectors(r *authorizationv1.ResourceAttributes) field.ErrorList {
	if r == nil {
		return nil
	}
	var f Findings
	form := func(name, raw string, n int) *field.Path {
		path := field.NewPath("spec", "resourceAttributes", name)
		f.AddIf(raw != "" && n > 0, field.Invalid(path.Child("rawSelector"), raw, "may not specified at the same time as requirements"))
		f.AddIf(raw == "" && n == 0, field.Required(path.Child("requirements"),
			fmt.Sprintf("when %s is specified, requirements or rawSelector is required", path)))
		return path.Child("requirements")
	}
	if s := r.FieldSelector; s != nil {
		path := form("fieldSelector", s.RawSelector, len(s.Requirements))
		for i, requirement := range s.Requirements {
			f.Merge(metav1validation.ValidateFieldSelectorRequirement(requirement,
				metav1validation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path.Index(i)))
		}
	}
	if s := r.LabelSelector; s != nil {
		path := form("labelSelector", s.RawSelector, len(s.Requirements))
		for i, requirement := range s.Requirements {
			f.Merge(metav1validation.ValidateLabelSelectorRequirement(requirement,
				metav1validation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path.Index(i)))
		}
	}
	return f.Errs
}

func noMetadata(meta *metav1.ObjectMeta, butNamespace bool) field.ErrorList {
	rest, msg := *meta, "must be empty"
	rest.ManagedFields = nil
	if butNamespace {
		rest.Namespace, msg = "", "must be empty except for namespace"
	}
	if apiequality.Semantic.DeepEqual(rest, metav1.ObjectMeta{}) {
		return nil
	}
	return field.ErrorList{field.Invalid(MetadataPath, *meta, msg)}
}
