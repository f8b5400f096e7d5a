package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Few checks that a list isn't too long.
func Few(path *field.Path, n, most int) field.ErrorList {
	if n <= most {
		return nil
	}
	return field.ErrorList{field.TooMany(path, n, most)}
}
