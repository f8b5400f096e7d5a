package validation

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Scale checks an update of a scale subresource. Of the metadata, the update changes only the managed fields.
func Scale(o *autoscalingv1.Scale) field.ErrorList {
	f := Findings{Errs: metav1validation.ValidateManagedFields(o.ManagedFields, MetadataPath.Child("managedFields"))}
	f.AddIf(o.Spec.Replicas < 0, field.Invalid(field.NewPath("spec", "replicas"), o.Spec.Replicas, apivalidation.IsNegativeErrorMsg))
	return f.Errs
}
