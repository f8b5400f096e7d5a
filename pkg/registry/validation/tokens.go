package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The limits of a token's lifetime, in seconds.
const (
	leastTokenLifetime = 10 * 60
	mostTokenLifetime  = 1 << 32
)

// TokenLifetime checks that the requested lifetime of a token is between 10 minutes and 2^32
// seconds.
func TokenLifetime(path *field.Path, seconds int64) field.ErrorList {
	var f Findings
	f.AddIf(seconds < leastTokenLifetime, field.Invalid(path, seconds, "may not specify a duration less than 10 minutes"))
	f.AddIf(seconds > mostTokenLifetime, field.Invalid(path, seconds, "may not specify a duration larger than 2^32 seconds"))
	return f.Errs
}
