package scheduling

import (
	"context"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/schedulingv1/workloadbuilder"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// gates maps the feature gates on which the generated validation of k8s.io/api depends to true: the fields of a gate that
// is off are dropped before the validation (see registry.Kind.Gated).
var gates = map[string]bool{
	"CompositePodGroup":               true,
	"PodGroupPreemptionPolicy":        true,
	"TopologyAwareWorkloadScheduling": true,
}

// These functions check the parts of a Workload and a PodGroup by the validation that k8s.io/api generates for
// v1alpha3. k8s.io/api generates no validation for v1beta1, which has the same fields and declarations.
var (
	declaredWorkloadSpec = inV1alpha3(schedulingv1alpha3.Validate_WorkloadSpec,
		workloadbuilder.Convert_v1beta1_WorkloadSpec_To_v1alpha3_WorkloadSpec)
	declaredPodGroupSpec = inV1alpha3(schedulingv1alpha3.Validate_PodGroupSpec,
		workloadbuilder.Convert_v1beta1_PodGroupSpec_To_v1alpha3_PodGroupSpec)
	declaredPodGroupStatus = inV1alpha3(schedulingv1alpha3.Validate_PodGroupStatus,
		workloadbuilder.Convert_v1beta1_PodGroupStatus_To_v1alpha3_PodGroupStatus)
)

// inV1alpha3 returns a validation of v1beta1 that converts a part of an object, and calls the generated validation of
// v1alpha3. The conversion is a cast, because both versions have the same fields.
func inV1alpha3[V1alpha3, V1beta1 any](generated validation.Generated[V1alpha3], convert func(*V1beta1, *V1alpha3, conversion.Scope) error) validation.Generated[V1beta1] {
	return func(ctx context.Context, op operation.Operation, path *field.Path, value, old *V1beta1) field.ErrorList {
		var parts [2]*V1alpha3
		for i, part := range []*V1beta1{value, old} {
			if part == nil {
				continue
			}
			parts[i] = new(V1alpha3)
			if err := convert(part, parts[i], nil); err != nil {
				return field.ErrorList{field.InternalError(path, err)}
			}
		}
		return generated(ctx, op, path, parts[0], parts[1])
	}
}
