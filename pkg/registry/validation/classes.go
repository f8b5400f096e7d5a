package validation

import (
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

const (
	systemPriorityPrefix = "system-"
	maxUserPriority      = 1_000_000_000
)

// systemPriorities are the classes that the system itself has.
var systemPriorities = map[string]int32{
	"system-cluster-critical": 2 * maxUserPriority,
	"system-node-critical":    2*maxUserPriority + 1000,
}

// IsSystemPriorityClass says whether name is that of a class that the system itself has.
func IsSystemPriorityClass(name string) bool {
	_, ok := systemPriorities[name]
	return ok
}

// PriorityClass checks a new class (KEP-268).
func PriorityClass(o *schedulingv1.PriorityClass) field.ErrorList {
	f := created(&o.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain)
	if strings.HasPrefix(o.Name, systemPriorityPrefix) {
		if msg := systemPriority(o); msg != "" {
			f.add(field.Forbidden(metadataPath.Child("name"),
				"priority class names with 'system-' prefix are reserved for system use only. error: "+msg))
		}
	} else {
		f.addIf(o.Value > maxUserPriority, field.Forbidden(field.NewPath("value"),
			fmt.Sprintf("maximum allowed value of a user defined priority is %v", maxUserPriority)))
	}
	if o.PreemptionPolicy != nil {
		f.merge(requiredOneOf(field.NewPath("preemptionPolicy"), *o.PreemptionPolicy,
			corev1.PreemptLowerPriority, corev1.PreemptNever))
	}
	return f.errs
}

// PriorityClassUpdate checks a class that replaces another.
func PriorityClassUpdate(o, old *schedulingv1.PriorityClass) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.addIf(o.Value != old.Value, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	f.merge(unchanged(field.NewPath("preemptionPolicy"), o.PreemptionPolicy, old.PreemptionPolicy))
	return f.errs
}

func systemPriority(o *schedulingv1.PriorityClass) string {
	value, ok := systemPriorities[o.Name]
	switch {
	case !ok:
		return o.Name + " is not a known system priority class"
	case o.Value != value:
		return fmt.Sprintf("value of %v PriorityClass must be %v", o.Name, value)
	case o.GlobalDefault:
		return fmt.Sprintf("globalDefault of %v PriorityClass must be %v", o.Name, false)
	}
	return ""
}

// RuntimeClass checks a new class (KEP-585).
func RuntimeClass(o *nodev1.RuntimeClass) field.ErrorList {
	f := created(&o.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain)
	f.merge(follows(named(apivalidation.NameIsDNSLabel), field.NewPath("handler"), o.Handler))
	if o.Overhead != nil {
		f.merge(resourceRequirements(field.NewPath("overhead"), &corev1.ResourceRequirements{Limits: o.Overhead.PodFixed},
			containerResourceName, nil))
	}
	if s := o.Scheduling; s != nil {
		path := field.NewPath("scheduling")
		f.merge(metav1validation.ValidateLabels(s.NodeSelector, path.Child("nodeSelector")),
			runtimeTolerations(path.Child("tolerations"), s.Tolerations))
	}
	return f.errs
}

// RuntimeClassUpdate checks a class that replaces another.
func RuntimeClassUpdate(o, old *nodev1.RuntimeClass) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(unchanged(field.NewPath("handler"), o.Handler, old.Handler))
	return f.errs
}

func runtimeTolerations(path *field.Path, ts []corev1.Toleration) field.ErrorList {
	f := findings{tolerations(path, ts)}
	type toleration struct {
		key, value string
		operator   corev1.TolerationOperator
		effect     corev1.TaintEffect
		seconds    int64
	}
	seen := map[toleration]bool{}
	for i, t := range ts {
		id := toleration{t.Key, t.Value, t.Operator, t.Effect, ptr.Deref(t.TolerationSeconds, -1)}
		f.addIf(seen[id], field.Duplicate(path.Index(i), unversioned(t)))
		seen[id] = true
	}
	return f.errs
}

// Lease checks a new lease.
func Lease(o *coordinationv1.Lease) field.ErrorList {
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	f.merge(leaseSpec(&o.Spec))
	return f.errs
}

// LeaseUpdate checks a lease that replaces another.
func LeaseUpdate(o, old *coordinationv1.Lease) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(leaseSpec(&o.Spec))
	return f.errs
}

func leaseSpec(spec *coordinationv1.LeaseSpec) field.ErrorList {
	var f findings
	path := field.NewPath("spec")
	if s := spec.LeaseDurationSeconds; s != nil {
		f.addIf(*s <= 0, field.Invalid(path.Child("leaseDurationSeconds"), *s, "must be greater than 0"))
	}
	if n := spec.LeaseTransitions; n != nil {
		f.addIf(*n < 0, field.Invalid(path.Child("leaseTransitions"), *n, "must be greater than or equal to 0"))
	}
	if spec.Strategy != nil {
		f.merge(leaseStrategy(path.Child("strategy"), *spec.Strategy))
	}
	f.addIf(ptr.Deref(spec.PreferredHolder, "") != "" && ptr.Deref(spec.Strategy, "") == "",
		field.Forbidden(path.Child("preferredHolder"), "may only be specified if `strategy` is defined"))
	return f.errs
}

// leaseStrategy checks how a coordinated election chooses (KEP-4355): a name of its own
// has a domain.
func leaseStrategy(path *field.Path, strategy coordinationv1.CoordinatedLeaseStrategy) field.ErrorList {
	if strings.Contains(string(strategy), "/") {
		return qualified(path, string(strategy))
	}
	return oneOf(path, strategy, coordinationv1.OldestEmulationVersion)
}
