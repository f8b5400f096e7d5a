package validation

import (
	resourcev1 "k8s.io/api/resource/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DeviceTaintRule checks a new rule that taints devices (KEP-5055).
func DeviceTaintRule(o *resourcev1.DeviceTaintRule) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(deviceTaintRuleSpec(&o.Spec))
	return f.Errs
}

// DeviceTaintRuleUpdate checks a rule that replaces another. An effect of a later
// version may stay.
func DeviceTaintRuleUpdate(o, old *resourcev1.DeviceTaintRule) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	spec := o.Spec
	if spec.Taint.Effect == old.Spec.Taint.Effect {
		spec.Taint.Effect = resourcev1.DeviceTaintEffectNone
	}
	f.Merge(deviceTaintRuleSpec(&spec))
	return f.Errs
}

// DeviceTaintRuleStatusUpdate checks what a controller says of the pods that have to go.
func DeviceTaintRuleStatusUpdate(o, old *resourcev1.DeviceTaintRule) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status", "conditions")
	f.Merge(Few(path, len(o.Status.Conditions), resourcev1.DeviceTaintRuleStatusMaxConditions),
		metav1validation.ValidateConditions(o.Status.Conditions, path))
	return f.Errs
}

func deviceTaintRuleSpec(spec *resourcev1.DeviceTaintRuleSpec) field.ErrorList {
	var f Findings
	path := field.NewPath("spec")
	if s := spec.DeviceSelector; s != nil {
		path := path.Child("deviceSelector")
		for _, criterion := range []struct {
			name  string
			value *string
			check func(*field.Path, string) field.ErrorList
		}{{"driver", s.Driver, CSIDriverName}, {"pool", s.Pool, poolName}, {"device", s.Device, deviceName}} {
			if criterion.value != nil {
				f.Merge(criterion.check(path.Child(criterion.name), *criterion.value))
			}
		}
	}
	f.Merge(deviceTaint(path.Child("taint"), &spec.Taint))
	return f.Errs
}

// deviceTaint checks a taint of devices, of one in its slice or of all that a rule selects.
func deviceTaint(path *field.Path, t *resourcev1.DeviceTaint) field.ErrorList {
	f := Findings{metav1validation.ValidateLabelName(t.Key, path.Child("key"))}
	if t.Value != "" {
		f.Merge(Follows(utilvalidation.IsValidLabelValue, path.Child("value"), t.Value))
	}
	f.Merge(RequiredOneOf(path.Child("effect"), t.Effect, deviceTaintEffects...))
	return f.Errs
}
