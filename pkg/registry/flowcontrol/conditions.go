package flowcontrol

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

func flowConditions(types []string) field.ErrorList {
	var f validation.Findings
	for i, t := range types {
		path := field.NewPath("status", "conditions").Index(i).Child("type")
		f.AddIf(slices.Contains(types[:i], t), field.Duplicate(path, t))
		f.AddIf(t == "", field.Required(path, "must not be empty"))
	}
	return f.Errs
}
