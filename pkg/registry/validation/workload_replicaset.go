package validation

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// ReplicaSet checks a new replica set.
func ReplicaSet(o *appsv1.ReplicaSet) field.ErrorList {
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	f.merge(replicaSetSpec(specPath, &o.Spec))
	return f.errs
}

// ReplicaSetUpdate checks a replica set that replaces another.
func ReplicaSetUpdate(o, old *appsv1.ReplicaSet) field.ErrorList {
	f := findings{ReplicaSet(o)}
	f.merge(updated(&o.ObjectMeta, &old.ObjectMeta).errs, replicaSetSpec(specPath, &o.Spec),
		unchanged(specPath.Child("selector"), o.Spec.Selector, old.Spec.Selector))
	return f.errs
}

// ReplicaSetStatusUpdate checks a change of a replica set's status.
func ReplicaSetStatusUpdate(o, old *appsv1.ReplicaSet) field.ErrorList {
	s := &o.Status
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(replicaCounts(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, s.TerminatingReplicas, s.ObservedGeneration))
	return f.errs
}

func replicaSetSpec(path *field.Path, s *appsv1.ReplicaSetSpec) field.ErrorList {
	var f findings
	f.merge(
		nonnegative(path.Child("replicas"), ptr.Deref(s.Replicas, 0)),
		nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds),
		requiredSelector(path.Child("selector"), s.Selector, "deployment"), // so it is called
		replicaTemplate(path, s.Selector, &s.Template))
	return f.errs
}

// replicaCounts checks the numbers in the status of a replica set or replication
// controller.
func replicaCounts(replicas, labeled, ready, available int32, terminating *int32, generation int64) field.ErrorList {
	path := statusPath
	var f findings
	f.merge(
		counts(path, count{"replicas", int64(replicas)}, count{"fullyLabeledReplicas", int64(labeled)},
			count{"readyReplicas", int64(ready)}, count{"availableReplicas", int64(available)},
			count{"terminatingReplicas", int64(ptr.Deref(terminating, 0))}, count{"observedGeneration", generation}),
		atMost(path, replicas, moreThanReplicas, count{"fullyLabeledReplicas", int64(labeled)},
			count{"readyReplicas", int64(ready)}, count{"availableReplicas", int64(available)}),
		atMost(path, ready, "cannot be greater than readyReplicas", count{"availableReplicas", int64(available)}))
	return f.errs
}

// ReplicationController checks a new replication controller.
func ReplicationController(o *corev1.ReplicationController) field.ErrorList {
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	f.merge(replicationControllerSpec(specPath, &o.Spec))
	return f.errs
}

// ReplicationControllerUpdate checks a replication controller that replaces another.
func ReplicationControllerUpdate(o, old *corev1.ReplicationController) field.ErrorList {
	f := findings{ReplicationController(o)}
	f.merge(updated(&o.ObjectMeta, &old.ObjectMeta).errs, replicationControllerSpec(specPath, &o.Spec))
	return f.errs
}

// ReplicationControllerStatusUpdate checks a change of a replication controller's status.
func ReplicationControllerStatusUpdate(o, old *corev1.ReplicationController) field.ErrorList {
	s := &o.Status
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(replicaCounts(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, nil, s.ObservedGeneration))
	return f.errs
}

func replicationControllerSpec(path *field.Path, s *corev1.ReplicationControllerSpec) field.ErrorList {
	var f findings
	f.merge(nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds))
	f.addIf(len(s.Selector) == 0, field.Required(path.Child("selector"), ""))
	f.merge(nonnegative(path.Child("replicas"), ptr.Deref(s.Replicas, 0)))
	template := path.Child("template")
	if s.Template == nil {
		f.add(field.Required(template, ""))
		return f.errs
	}
	f.merge(
		selectsTemplate(template, labels.SelectorFromSet(s.Selector), s.Template.Labels),
		longRunningTemplate(template, s.Template, "ReplicationController"))
	return f.errs
}
