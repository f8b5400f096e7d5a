package validation

import (
	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

var zero = intstr.FromInt32(0)

// DaemonSet checks a new daemon set.
func DaemonSet(o *appsv1.DaemonSet) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(daemonSetSpec(SpecPath, &o.Spec))
	return f.Errs
}

// DaemonSetUpdate checks a daemon set that replaces another.
func DaemonSetUpdate(o, old *appsv1.DaemonSet) field.ErrorList {
	f := Findings{DaemonSet(o)}
	f.Merge(Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, daemonSetSpec(SpecPath, &o.Spec),
		Unchanged(SpecPath.Child("selector"), o.Spec.Selector, old.Spec.Selector))
	return f.Errs
}

// DaemonSetStatusUpdate checks a change of a daemon set's status.
func DaemonSetStatusUpdate(o, old *appsv1.DaemonSet) field.ErrorList {
	s, path := &o.Status, StatusPath
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(
		Counts(path, Count{"currentNumberScheduled", int64(s.CurrentNumberScheduled)}, Count{"numberMisscheduled", int64(s.NumberMisscheduled)},
			Count{"desiredNumberScheduled", int64(s.DesiredNumberScheduled)}, Count{"numberReady", int64(s.NumberReady)},
			Count{"observedGeneration", s.ObservedGeneration}, Count{"updatedNumberScheduled", int64(s.UpdatedNumberScheduled)},
			Count{"numberAvailable", int64(s.NumberAvailable)}, Count{"numberUnavailable", int64(s.NumberUnavailable)},
			Count{"collisionCount", int64(ptr.Deref(s.CollisionCount, 0))}),
		collisions(path.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount))
	return f.Errs
}

func daemonSetSpec(path *field.Path, s *appsv1.DaemonSetSpec) field.ErrorList {
	var f Findings
	template := path.Child("template")
	f.Merge(LabelSelector(path.Child("selector"), s.Selector))
	if selector, err := metav1.LabelSelectorAsSelector(s.Selector); err == nil {
		f.Merge(SelectsTemplate(template, selector, s.Template.Labels))
	}
	f.AddIf(s.Selector != nil && isEmptySelector(s.Selector), field.Invalid(path.Child("selector"), s.Selector, "empty selector is invalid for daemonset"))
	f.Merge(
		LongRunningTemplate(template, &s.Template, "DaemonSet"),
		Nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds),
		daemonSetStrategy(path.Child("updateStrategy"), &s.UpdateStrategy),
		Nonnegative(path.Child("revisionHistoryLimit"), ptr.Deref(s.RevisionHistoryLimit, 0)))
	return f.Errs
}

func daemonSetStrategy(path *field.Path, s *appsv1.DaemonSetUpdateStrategy) field.ErrorList {
	switch s.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(path.Child("rollingUpdate"), "")}
		}
		return rollingDaemonSet(path.Child("rollingUpdate"), s.RollingUpdate)
	}
	return field.ErrorList{field.NotSupported(path, Unversioned(s),
		[]appsv1.DaemonSetUpdateStrategyType{appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType})}
}

func rollingDaemonSet(path *field.Path, r *appsv1.RollingUpdateDaemonSet) field.ErrorList {
	var f Findings
	unavailable, surge := ptr.Deref(r.MaxUnavailable, zero), ptr.Deref(r.MaxSurge, zero)
	atUnavailable, atSurge := path.Child("maxUnavailable"), path.Child("maxSurge")
	f.Merge(
		IntOrPercent(atUnavailable, unavailable), IntOrPercent(atSurge, surge),
		AtMostAll(atUnavailable, unavailable), AtMostAll(atSurge, surge))
	f.AddIf(!isZero(unavailable) && !isZero(surge), field.Invalid(atSurge, surge, "may not be set when maxUnavailable is non-zero"))
	f.AddIf(isZero(unavailable) && isZero(surge), field.Required(atUnavailable, "cannot be 0 when maxSurge is 0"))
	return f.Errs
}
