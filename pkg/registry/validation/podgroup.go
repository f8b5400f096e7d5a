package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Fixed reports a field that an update changes and may not: on create there is no old one. It says
// whether the field has to be looked at further.
func (f *Findings) Fixed(path *field.Path, update bool, value, old any) bool {
	if !update {
		return true
	}
	f.AddIf(!apiequality.Semantic.DeepEqual(value, old), field.Invalid(path, nil, apivalidation.FieldImmutableErrorMsg))
	return false
}
