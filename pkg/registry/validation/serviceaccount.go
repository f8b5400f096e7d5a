package validation

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ServiceAccount checks a new service account.
func ServiceAccount(o *corev1.ServiceAccount) field.ErrorList {
	return Created(&o.ObjectMeta, Namespaced, apivalidation.ValidateServiceAccountName).Errs
}

// ServiceAccountUpdate checks a service account that replaces another.
func ServiceAccountUpdate(o, old *corev1.ServiceAccount) field.ErrorList {
	return append(Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, ServiceAccount(o)...)
}

// The lifetime of a token, in seconds.
const (
	leastTokenLifetime = 10 * 60
	mostTokenLifetime  = 1 << 32
)

// TokenRequest checks how long a service account's token is asked to live (KEP-1205).
func TokenRequest(o *authenticationv1.TokenRequest) field.ErrorList {
	if o.Spec.ExpirationSeconds == nil {
		return nil
	}
	return TokenLifetime(field.NewPath("spec", "expirationSeconds"), *o.Spec.ExpirationSeconds)
}

// TokenLifetime checks for how long a token is asked for.
func TokenLifetime(path *field.Path, seconds int64) field.ErrorList {
	var f Findings
	f.AddIf(seconds < leastTokenLifetime, field.Invalid(path, seconds, "may not specify a duration less than 10 minutes"))
	f.AddIf(seconds > mostTokenLifetime, field.Invalid(path, seconds, "may not specify a duration larger than 2^32 seconds"))
	return f.Errs
}
