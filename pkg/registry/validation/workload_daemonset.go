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
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	f.merge(daemonSetSpec(specPath, &o.Spec))
	return f.errs
}

// DaemonSetUpdate checks a daemon set that replaces another.
func DaemonSetUpdate(o, old *appsv1.DaemonSet) field.ErrorList {
	f := findings{DaemonSet(o)}
	f.merge(updated(&o.ObjectMeta, &old.ObjectMeta).errs, daemonSetSpec(specPath, &o.Spec),
		unchanged(specPath.Child("selector"), o.Spec.Selector, old.Spec.Selector))
	return f.errs
}

// DaemonSetStatusUpdate checks a change of a daemon set's status.
func DaemonSetStatusUpdate(o, old *appsv1.DaemonSet) field.ErrorList {
	s, path := &o.Status, statusPath
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(
		counts(path, count{"currentNumberScheduled", int64(s.CurrentNumberScheduled)}, count{"numberMisscheduled", int64(s.NumberMisscheduled)},
			count{"desiredNumberScheduled", int64(s.DesiredNumberScheduled)}, count{"numberReady", int64(s.NumberReady)},
			count{"observedGeneration", s.ObservedGeneration}, count{"updatedNumberScheduled", int64(s.UpdatedNumberScheduled)},
			count{"numberAvailable", int64(s.NumberAvailable)}, count{"numberUnavailable", int64(s.NumberUnavailable)},
			count{"collisionCount", int64(ptr.Deref(s.CollisionCount, 0))}),
		collisions(path.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount))
	return f.errs
}

func daemonSetSpec(path *field.Path, s *appsv1.DaemonSetSpec) field.ErrorList {
	var f findings
	template := path.Child("template")
	f.merge(labelSelector(path.Child("selector"), s.Selector))
	if selector, err := metav1.LabelSelectorAsSelector(s.Selector); err == nil {
		f.merge(selectsTemplate(template, selector, s.Template.Labels))
	}
	f.addIf(s.Selector != nil && isEmptySelector(s.Selector), field.Invalid(path.Child("selector"), s.Selector, "empty selector is invalid for daemonset"))
	f.merge(
		longRunningTemplate(template, &s.Template, "DaemonSet"),
		nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds),
		daemonSetStrategy(path.Child("updateStrategy"), &s.UpdateStrategy),
		nonnegative(path.Child("revisionHistoryLimit"), ptr.Deref(s.RevisionHistoryLimit, 0)))
	return f.errs
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
	return field.ErrorList{field.NotSupported(path, unversioned(s),
		[]appsv1.DaemonSetUpdateStrategyType{appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType})}
}

func rollingDaemonSet(path *field.Path, r *appsv1.RollingUpdateDaemonSet) field.ErrorList {
	var f findings
	unavailable, surge := ptr.Deref(r.MaxUnavailable, zero), ptr.Deref(r.MaxSurge, zero)
	atUnavailable, atSurge := path.Child("maxUnavailable"), path.Child("maxSurge")
	f.merge(
		intOrPercent(atUnavailable, unavailable), intOrPercent(atSurge, surge),
		atMostAll(atUnavailable, unavailable), atMostAll(atSurge, surge))
	f.addIf(!isZero(unavailable) && !isZero(surge), field.Invalid(atSurge, surge, "may not be set when maxUnavailable is non-zero"))
	f.addIf(isZero(unavailable) && isZero(surge), field.Required(atUnavailable, "cannot be 0 when maxSurge is 0"))
	return f.errs
}
