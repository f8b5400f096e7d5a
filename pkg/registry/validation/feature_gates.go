package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-base/featuregate"
)

// Feature gates of kube-apiserver that change the validation of several kinds.
const (
	// StrictAddresses is the feature gate that refuses malformed addresses and address ranges (KEP-4858).
	StrictAddresses featuregate.Feature = "StrictIPCIDRValidation"
	// RelaxedServiceNames is the feature gate with which the name of a Service may start with a digit (KEP-5311).
	RelaxedServiceNames featuregate.Feature = "RelaxedServiceNameValidation"
)

// The origins of errors that depend on a feature gate are written as the tags of declarative validation.
const ifEnabled, ifDisabled, tagEnd = "ifEnabled(", "ifDisabled(", ")"

// Switch returns the errors of a rule that a feature gate changes: those of both states of the gate and, marked, those of
// one state. InForce drops the marked ones of the other state. So a rule needs not know the gates of the server.
func Switch(feature featuregate.Feature, on, off field.ErrorList) field.ErrorList {
	var f Findings
	for _, err := range on {
		if !has(off, err) {
			err = err.WithOrigin(ifEnabled + string(feature) + tagEnd)
		}
		f.Add(err)
	}
	for _, err := range off {
		if !has(on, err) {
			f.Add(err.WithOrigin(ifDisabled + string(feature) + tagEnd))
		}
	}
	return f.Errs
}

// has reports whether a list has an error with the same text.
func has(errs field.ErrorList, err *field.Error) bool {
	return slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Error() == err.Error() })
}

// InForce returns the errors without those of Switch that the feature gates turn off.
func InForce(errs field.ErrorList, gates featuregate.FeatureGate) field.ErrorList {
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		for tag, on := range map[string]bool{ifEnabled: true, ifDisabled: false} {
			if feature, found := strings.CutPrefix(err.Origin, tag); found {
				return gates.Enabled(featuregate.Feature(strings.TrimSuffix(feature, tagEnd))) != on
			}
		}
		return false
	})
}
