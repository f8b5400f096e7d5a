package resource

import (
	"slices"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// taintedNow sets the time of a taint to the current time, in whole seconds, if the taint has no time.
func taintedNow(added **metav1.Time) {
	if *added == nil {
		*added = &metav1.Time{Time: time.Now().Truncate(time.Second)}
	}
}

// deviceTaint checks a taint of a device or a DeviceTaintRule. The generated validation checks the effect.
func deviceTaint(path *field.Path, t *resourcev1.DeviceTaint) field.ErrorList {
	f := validation.Findings{Errs: metav1validation.ValidateLabelName(t.Key, path.Child("key"))}
	if t.Value != "" {
		f.Merge(validation.Follows(utilvalidation.IsValidLabelValue, path.Child("value"), t.Value))
	}
	return f.Errs
}

// poolName checks the name of a pool: one or more DNS names, separated by slashes.
func poolName(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	var f validation.Findings
	f.AddIf(len(name) > resourcev1.PoolNameMaxLength, field.TooLong(path, "", resourcev1.PoolNameMaxLength))
	for part := range strings.SplitSeq(name, "/") {
		f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, path, part))
	}
	return f.Errs
}

func deviceName(path *field.Path, name string) field.ErrorList {
	return validation.Follows(utilvalidation.IsDNS1123Label, path, name)
}

// bindingConditions checks bindingConditions and bindingFailureConditions of a device (KEP-5007). Each condition
// may occur once. A device has both lists, or none.
func bindingConditions(path *field.Path, waits, fails []string) field.ErrorList {
	var f validation.Findings
	waitsPath, failsPath := path.Child("bindingConditions"), path.Child("bindingFailureConditions")
	for i, t := range validation.Within(waits, resourcev1.BindingConditionsMaxSize) {
		f.Merge(metav1validation.ValidateLabelName(t, waitsPath.Index(i)))
	}
	for i, t := range validation.Within(fails, resourcev1.BindingFailureConditionsMaxSize) {
		f.Merge(metav1validation.ValidateLabelName(t, failsPath.Index(i)))
	}
	for i, t := range waits {
		f.AddIf(slices.Contains(waits[:i], t), field.Duplicate(waitsPath.Index(i), t))
	}
	for i, t := range fails {
		f.AddIf(slices.Contains(fails[:i], t), field.Duplicate(failsPath.Index(i), t))
		f.AddIf(slices.Contains(waits, t), field.Invalid(failsPath.Index(i), t, "bindingFailureConditions must not overlap with bindingConditions"))
	}
	f.AddIf(len(waits) == 0 && len(fails) > 0, field.Invalid(waitsPath, waits, "bindingConditions are required to use bindingFailureConditions"))
	f.AddIf(len(fails) == 0 && len(waits) > 0, field.Invalid(failsPath, fails, "bindingFailureConditions are required to use bindingConditions"))
	return f.Errs
}
