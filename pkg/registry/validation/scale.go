package validation

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Scale checks an update of a scale subresource.
func Scale(o *autoscalingv1.Scale) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.AddIf(o.Spec.Replicas < 0, field.Invalid(field.NewPath("spec", "replicas"), o.Spec.Replicas, apivalidation.IsNegativeErrorMsg))
	return f.Errs
}
