package flowcontrol

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// flowConditions checks that each condition of a status has a type, and that no two conditions have the same type.
func flowConditions[C any](conditions []C, typeOf func(C) string) field.ErrorList {
	var f validation.Findings
	seen := sets.New[string]()
	for i, c := range conditions {
		path, t := field.NewPath("status", "conditions").Index(i).Child("type"), typeOf(c)
		f.AddIf(seen.Has(t), field.Duplicate(path, t))
		f.AddIf(t == "", field.Required(path, ""))
		seen.Insert(t)
	}
	return f.Errs
}
