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
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	f.merge(deploymentSpec(specPath, &o.Spec))
	return f.errs
}

// DeploymentUpdate checks a deployment that replaces another.
func DeploymentUpdate(o, old *appsv1.Deployment) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(deploymentSpec(specPath, &o.Spec), unchanged(specPath.Child("selector"), o.Spec.Selector, old.Spec.Selector))
	return f.errs
}

// DeploymentStatusUpdate checks a change of a deployment's status.
func DeploymentStatusUpdate(o, old *appsv1.Deployment) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	s, path := &o.Status, statusPath
	f.merge(
		counts(path, count{"observedGeneration", s.ObservedGeneration},
			count{"replicas", int64(s.Replicas)}, count{"updatedReplicas", int64(s.UpdatedReplicas)},
			count{"readyReplicas", int64(s.ReadyReplicas)}, count{"availableReplicas", int64(s.AvailableReplicas)},
			count{"unavailableReplicas", int64(s.UnavailableReplicas)},
			count{"terminatingReplicas", int64(ptr.Deref(s.TerminatingReplicas, 0))},
			count{"collisionCount", int64(ptr.Deref(s.CollisionCount, 0))}),
		atMost(path, s.Replicas, moreThanReplicas, count{"updatedReplicas", int64(s.UpdatedReplicas)},
			count{"readyReplicas", int64(s.ReadyReplicas)}, count{"availableReplicas", int64(s.AvailableReplicas)}),
		atMost(path, s.ReadyReplicas, "cannot be greater than readyReplicas", count{"availableReplicas", int64(s.AvailableReplicas)}),
		collisions(path.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount))
	return f.errs
}

func deploymentSpec(path *field.Path, s *appsv1.DeploymentSpec) field.ErrorList {
	var f findings
	f.merge(
		nonnegative(path.Child("replicas"), ptr.Deref(s.Replicas, 0)),
		requiredSelector(path.Child("selector"), s.Selector, "deployment"),
		replicaTemplate(path, s.Selector, &s.Template),
		deploymentStrategy(path.Child("strategy"), &s.Strategy),
		nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds),
		nonnegative(path.Child("revisionHistoryLimit"), ptr.Deref(s.RevisionHistoryLimit, 0)))
	if deadline := s.ProgressDeadlineSeconds; deadline != nil {
		path := path.Child("progressDeadlineSeconds")
		f.merge(nonnegative(path, *deadline))
		f.addIf(*deadline <= s.MinReadySeconds, field.Invalid(path, deadline, "must be greater than minReadySeconds"))
	}
	return f.errs
}

// replicaTemplate checks the template of a controller that keeps a number of pods.
func replicaTemplate(spec *field.Path, s *metav1.LabelSelector, t *corev1.PodTemplateSpec) field.ErrorList {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return field.ErrorList{field.Invalid(spec.Child("selector"), s, "invalid label selector")}
	}
	template := spec.Child("template")
	return append(selectsTemplate(template, selector, t.Labels), longRunningTemplate(template, t, "ReplicaSet")...)
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
	return field.ErrorList{field.NotSupported(path, unversioned(s),
		[]appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType})}
}

func rollingDeployment(path *field.Path, r *appsv1.RollingUpdateDeployment) field.ErrorList {
	var f findings
	unavailable, surge := ptr.Deref(r.MaxUnavailable, zero), ptr.Deref(r.MaxSurge, zero)
	at := path.Child("maxUnavailable")
	f.merge(intOrPercent(at, unavailable), intOrPercent(path.Child("maxSurge"), surge))
	f.addIf(isZero(unavailable) && isZero(surge), field.Invalid(at, unavailable, "may not be 0 when `maxSurge` is 0"))
	f.merge(atMostAll(at, unavailable))
	return f.errs
}
