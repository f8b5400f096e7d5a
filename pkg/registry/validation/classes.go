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
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	if strings.HasPrefix(o.Name, systemPriorityPrefix) {
		if msg := systemPriority(o); msg != "" {
			f.Add(field.Forbidden(MetadataPath.Child("name"),
				"priority class names with 'system-' prefix are reserved for system use only. error: "+msg))
		}
	} else {
		f.AddIf(o.Value > maxUserPriority, field.Forbidden(field.NewPath("value"),
			fmt.Sprintf("maximum allowed value of a user defined priority is %v", maxUserPriority)))
	}
	if o.PreemptionPolicy != nil {
		f.Merge(RequiredOneOf(field.NewPath("preemptionPolicy"), *o.PreemptionPolicy,
			corev1.PreemptLowerPriority, corev1.PreemptNever))
	}
	return f.Errs
}

// PriorityClassUpdate checks a class that replaces another.
func PriorityClassUpdate(o, old *schedulingv1.PriorityClass) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.AddIf(o.Value != old.Value, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	f.Merge(Unchanged(field.NewPath("preemptionPolicy"), o.PreemptionPolicy, old.PreemptionPolicy))
	return f.Errs
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
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(Follows(Named(apivalidation.NameIsDNSLabel), field.NewPath("handler"), o.Handler))
	if o.Overhead != nil {
		f.Merge(ResourceRequirements(field.NewPath("overhead"), &corev1.ResourceRequirements{Limits: o.Overhead.PodFixed},
			ContainerResourceName, nil))
	}
	if s := o.Scheduling; s != nil {
		path := field.NewPath("scheduling")
		f.Merge(metav1validation.ValidateLabels(s.NodeSelector, path.Child("nodeSelector")),
			runtimeTolerations(path.Child("tolerations"), s.Tolerations))
	}
	return f.Errs
}

// RuntimeClassUpdate checks a class that replaces another.
func RuntimeClassUpdate(o, old *nodev1.RuntimeClass) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(Unchanged(field.NewPath("handler"), o.Handler, old.Handler))
	return f.Errs
}

func runtimeTolerations(path *field.Path, ts []corev1.Toleration) field.ErrorList {
	f := Findings{Tolerations(path, ts)}
	type toleration struct {
		key, value string
		operator   corev1.TolerationOperator
		effect     corev1.TaintEffect
		seconds    int64
	}
	seen := map[toleration]bool{}
	for i, t := range ts {
		id := toleration{t.Key, t.Value, t.Operator, t.Effect, ptr.Deref(t.TolerationSeconds, -1)}
		f.AddIf(seen[id], field.Duplicate(path.Index(i), Unversioned(t)))
		seen[id] = true
	}
	return f.Errs
}

// Lease checks a new lease.
func Lease(o *coordinationv1.Lease) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(leaseSpec(&o.Spec))
	return f.Errs
}

// LeaseUpdate checks a lease that replaces another.
func LeaseUpdate(o, old *coordinationv1.Lease) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(leaseSpec(&o.Spec))
	return f.Errs
}

func leaseSpec(spec *coordinationv1.LeaseSpec) field.ErrorList {
	var f Findings
	path := field.NewPath("spec")
	if s := spec.LeaseDurationSeconds; s != nil {
		f.AddIf(*s <= 0, field.Invalid(path.Child("leaseDurationSeconds"), *s, "must be greater than 0"))
	}
	if n := spec.LeaseTransitions; n != nil {
		f.AddIf(*n < 0, field.Invalid(path.Child("leaseTransitions"), *n, "must be greater than or equal to 0"))
	}
	if spec.Strategy != nil {
		f.Merge(leaseStrategy(path.Child("strategy"), *spec.Strategy))
	}
	f.AddIf(ptr.Deref(spec.PreferredHolder, "") != "" && ptr.Deref(spec.Strategy, "") == "",
		field.Forbidden(path.Child("preferredHolder"), "may only be specified if `strategy` is defined"))
	return f.Errs
}

// leaseStrategy checks how a coordinated election chooses (KEP-4355): a name of its own
// has a domain.
func leaseStrategy(path *field.Path, strategy coordinationv1.CoordinatedLeaseStrategy) field.ErrorList {
	if strings.Contains(string(strategy), "/") {
		return Qualified(path, string(strategy))
	}
	return OneOf(path, strategy, coordinationv1.OldestEmulationVersion)
}
