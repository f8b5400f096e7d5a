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
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(replicaSetSpec(SpecPath, &o.Spec))
	return f.Errs
}

// ReplicaSetUpdate checks a replica set that replaces another.
func ReplicaSetUpdate(o, old *appsv1.ReplicaSet) field.ErrorList {
	f := Findings{ReplicaSet(o)}
	f.Merge(Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, replicaSetSpec(SpecPath, &o.Spec),
		Unchanged(SpecPath.Child("selector"), o.Spec.Selector, old.Spec.Selector))
	return f.Errs
}

// ReplicaSetStatusUpdate checks a change of a replica set's status.
func ReplicaSetStatusUpdate(o, old *appsv1.ReplicaSet) field.ErrorList {
	s := &o.Status
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(ReplicaCounts(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, s.TerminatingReplicas, s.ObservedGeneration))
	return f.Errs
}

func replicaSetSpec(path *field.Path, s *appsv1.ReplicaSetSpec) field.ErrorList {
	var f Findings
	f.Merge(
		Nonnegative(path.Child("replicas"), ptr.Deref(s.Replicas, 0)),
		Nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds),
		requiredSelector(path.Child("selector"), s.Selector, "deployment"), // so it is called
		replicaTemplate(path, s.Selector, &s.Template))
	return f.Errs
}

// ReplicaCounts checks the numbers in the status of a replica set or replication
// controller.
func ReplicaCounts(replicas, labeled, ready, available int32, terminating *int32, generation int64) field.ErrorList {
	path := StatusPath
	var f Findings
	f.Merge(
		Counts(path, Count{"replicas", int64(replicas)}, Count{"fullyLabeledReplicas", int64(labeled)},
			Count{"readyReplicas", int64(ready)}, Count{"availableReplicas", int64(available)},
			Count{"terminatingReplicas", int64(ptr.Deref(terminating, 0))}, Count{"observedGeneration", generation}),
		AtMost(path, replicas, MoreThanReplicas, Count{"fullyLabeledReplicas", int64(labeled)},
			Count{"readyReplicas", int64(ready)}, Count{"availableReplicas", int64(available)}),
		AtMost(path, ready, "cannot be greater than readyReplicas", Count{"availableReplicas", int64(available)}))
	return f.Errs
}

// ReplicationController checks a new replication controller.
func ReplicationController(o *corev1.ReplicationController) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(replicationControllerSpec(SpecPath, &o.Spec))
	return f.Errs
}

// ReplicationControllerUpdate checks a replication controller that replaces another.
func ReplicationControllerUpdate(o, old *corev1.ReplicationController) field.ErrorList {
	f := Findings{ReplicationController(o)}
	f.Merge(Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, replicationControllerSpec(SpecPath, &o.Spec))
	return f.Errs
}

// ReplicationControllerStatusUpdate checks a change of a replication controller's status.
func ReplicationControllerStatusUpdate(o, old *corev1.ReplicationController) field.ErrorList {
	s := &o.Status
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(ReplicaCounts(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, nil, s.ObservedGeneration))
	return f.Errs
}

func replicationControllerSpec(path *field.Path, s *corev1.ReplicationControllerSpec) field.ErrorList {
	var f Findings
	f.Merge(Nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds))
	f.AddIf(len(s.Selector) == 0, field.Required(path.Child("selector"), ""))
	f.Merge(Nonnegative(path.Child("replicas"), ptr.Deref(s.Replicas, 0)))
	template := path.Child("template")
	if s.Template == nil {
		f.Add(field.Required(template, ""))
		return f.Errs
	}
	f.Merge(
		SelectsTemplate(template, labels.SelectorFromSet(s.Selector), s.Template.Labels),
		LongRunningTemplate(template, s.Template, "ReplicationController"))
	return f.Errs
}
