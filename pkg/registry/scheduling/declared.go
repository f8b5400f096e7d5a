package scheduling

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// gates maps the feature gates on which the generated validation of k8s.io/api depends to their states.
// CompositePodGroup is off, because miniapi doesn't serve groups of pod groups.
var gates = map[string]bool{
	"CompositePodGroup":               false,
	"PodGroupPreemptionPolicy":        true,
	"TopologyAwareWorkloadScheduling": true,
}

// declared checks a part of a Workload or a PodGroup by the validation that k8s.io/api generates for v1alpha3.
// k8s.io/api generates no validation for v1beta1, which has the same fields and declarations.
func declared[V1alpha3, V1beta1 any](generated validation.Generated[V1alpha3], path *field.Path, value, old *V1beta1) field.ErrorList {
	now, err := inVersion[V1alpha3](value)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	was, err := inVersion[V1alpha3](old)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	return validation.Declared(generated, path, now, was, gates)
}

// inVersion converts a part of an object to the Go type of another version that has the same fields.
func inVersion[To, From any](part *From) (*To, error) {
	if part == nil {
		return nil, nil
	}
	converted := new(To)
	return converted, conversion.CopyFields(part, converted)
}
