package validation

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// Deployment checks a new deployment.
func Deployment(o *appsv1.Deployment) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(deploymentSpec(SpecPath, &o.Spec))
	return f.Errs
}

// DeploymentUpdate checks a deployment that replaces another.
func DeploymentUpdate(o, old *appsv1.Deployment) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(deploymentSpec(SpecPath, &o.Spec), Unchanged(SpecPath.Child("selector"), o.Spec.Selector, old.Spec.Selector))
	return f.Errs
}

// DeploymentStatusUpdate checks a change of a deployment's status.
func DeploymentStatusUpdate(o, old *appsv1.Deployment) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	s, path := &o.Status, StatusPath
	f.Merge(
		Counts(path, Count{"observedGeneration", s.ObservedGeneration},
			Count{"replicas", int64(s.Replicas)}, Count{"updatedReplicas", int64(s.UpdatedReplicas)},
			Count{"readyReplicas", int64(s.ReadyReplicas)}, Count{"availableReplicas", int64(s.AvailableReplicas)},
			Count{"unavailableReplicas", int64(s.UnavailableReplicas)},
			Count{"terminatingReplicas", int64(ptr.Deref(s.TerminatingReplicas, 0))},
			Count{"collisionCount", int64(ptr.Deref(s.CollisionCount, 0))}),
		AtMost(path, s.Replicas, MoreThanReplicas, Count{"updatedReplicas", int64(s.UpdatedReplicas)},
			Count{"readyReplicas", int64(s.ReadyReplicas)}, Count{"availableReplicas", int64(s.AvailableReplicas)}),
		AtMost(path, s.ReadyReplicas, "cannot be greater than readyReplicas", Count{"availableReplicas", int64(s.AvailableReplicas)}),
		collisions(path.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount))
	return f.Errs
}

func deploymentSpec(path *field.Path, s *appsv1.DeploymentSpec) field.ErrorList {
	var f Findings
	f.Merge(
		Nonnegative(path.Child("replicas"), ptr.Deref(s.Replicas, 0)),
		requiredSelector(path.Child("selector"), s.Selector, "deployment"),
		replicaTemplate(path, s.Selector, &s.Template),
		deploymentStrategy(path.Child("strategy"), &s.Strategy),
		Nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds),
		Nonnegative(path.Child("revisionHistoryLimit"), ptr.Deref(s.RevisionHistoryLimit, 0)))
	if deadline := s.ProgressDeadlineSeconds; deadline != nil {
		path := path.Child("progressDeadlineSeconds")
		f.Merge(Nonnegative(path, *deadline))
		f.AddIf(*deadline <= s.MinReadySeconds, field.Invalid(path, deadline, "must be greater than minReadySeconds"))
	}
	return f.Errs
}

// replicaTemplate checks the template of a controller that keeps a number of pods.
func replicaTemplate(spec *field.Path, s *metav1.LabelSelector, t *corev1.PodTemplateSpec) field.ErrorList {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return field.ErrorList{field.Invalid(spec.Child("selector"), s, "invalid label selector")}
	}
	template := spec.Child("template")
	return append(SelectsTemplate(template, selector, t.Labels), LongRunningTemplate(template, t, "ReplicaSet")...)
}

func deploymentStrategy(path *field.Path, s *appsv1.DeploymentStrategy) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{field.Forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'")}
		}
		return nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(rolling, "this should be defaulted and never be nil")}
		}
		return rollingDeployment(rolling, s.RollingUpdate)
	}
	return field.ErrorList{field.NotSupported(path, Unversioned(s),
		[]appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType})}
}

func rollingDeployment(path *field.Path, r *appsv1.RollingUpdateDeployment) field.ErrorList {
	var f Findings
	unavailable, surge := ptr.Deref(r.MaxUnavailable, zero), ptr.Deref(r.MaxSurge, zero)
	at := path.Child("maxUnavailable")
	f.Merge(IntOrPercent(at, unavailable), IntOrPercent(path.Child("maxSurge"), surge))
	f.AddIf(isZero(unavailable) && isZero(surge), field.Invalid(at, unavailable, "may not be 0 when `maxSurge` is 0"))
	f.Merge(AtMostAll(at, unavailable))
	return f.Errs
}
