package replicaset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// API makes the requests for one of the kinds that the package serves. A ReplicationController is converted: it has the
// fields of a ReplicaSet.
type API struct {
	kind schema.GroupVersionKind
	// countsTerminating is true if the kind has status.terminatingReplicas.
	countsTerminating bool
	// view returns an object of the informer as a ReplicaSet, with the apiVersion and the kind of the object. The
	// result shares the object's fields.
	view func(obj any) *appsv1.ReplicaSet
	// get reads an object from the server.
	get          func(ctx context.Context, set *appsv1.ReplicaSet) (metav1.Object, error)
	updateStatus func(ctx context.Context, set *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) error
}

// ReplicaSets returns the API of ReplicaSets.
func ReplicaSets(client appsv1client.ReplicaSetsGetter) API {
	kind := appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	return API{
		kind:              kind,
		countsTerminating: true,
		view: func(obj any) *appsv1.ReplicaSet {
			set := *obj.(*appsv1.ReplicaSet)
			set.SetGroupVersionKind(kind)
			return &set
		},
		get: func(ctx context.Context, set *appsv1.ReplicaSet) (metav1.Object, error) {
			return client.ReplicaSets(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
		},
		updateStatus: func(ctx context.Context, set *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) error {
			changed := *set
			changed.Status = status
			_, err := client.ReplicaSets(set.Namespace).UpdateStatus(ctx, &changed, metav1.UpdateOptions{})
			return err
		},
	}
}

// ReplicationControllers returns the API of ReplicationControllers.
func ReplicationControllers(client corev1client.ReplicationControllersGetter) API {
	kind := corev1.SchemeGroupVersion.WithKind("ReplicationController")
	return API{
		kind: kind,
		view: func(obj any) *appsv1.ReplicaSet {
			set := viewOf(obj.(*corev1.ReplicationController))
			set.SetGroupVersionKind(kind)
			return set
		},
		get: func(ctx context.Context, set *appsv1.ReplicaSet) (metav1.Object, error) {
			return client.ReplicationControllers(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
		},
		updateStatus: func(ctx context.Context, set *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) error {
			_, err := client.ReplicationControllers(set.Namespace).UpdateStatus(ctx, &corev1.ReplicationController{
				ObjectMeta: set.ObjectMeta,
				Spec: corev1.ReplicationControllerSpec{
					Replicas: set.Spec.Replicas, MinReadySeconds: set.Spec.MinReadySeconds, Selector: set.Spec.Selector.MatchLabels, Template: &set.Spec.Template,
				},
				Status: statusOfController(status),
			}, metav1.UpdateOptions{})
			return err
		},
	}
}

func viewOf(rc *corev1.ReplicationController) *appsv1.ReplicaSet {
	set := &appsv1.ReplicaSet{
		ObjectMeta: rc.ObjectMeta,
		Spec:       appsv1.ReplicaSetSpec{Replicas: rc.Spec.Replicas, MinReadySeconds: rc.Spec.MinReadySeconds, Selector: &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}},
		Status: appsv1.ReplicaSetStatus{
			Replicas: rc.Status.Replicas, FullyLabeledReplicas: rc.Status.FullyLabeledReplicas, ReadyReplicas: rc.Status.ReadyReplicas,
			AvailableReplicas: rc.Status.AvailableReplicas, ObservedGeneration: rc.Status.ObservedGeneration,
		},
	}
	if rc.Spec.Template != nil {
		set.Spec.Template = *rc.Spec.Template
	}
	for _, c := range rc.Status.Conditions {
		set.Status.Conditions = append(set.Status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return set
}

func statusOfController(status appsv1.ReplicaSetStatus) corev1.ReplicationControllerStatus {
	converted := corev1.ReplicationControllerStatus{
		Replicas: status.Replicas, FullyLabeledReplicas: status.FullyLabeledReplicas, ReadyReplicas: status.ReadyReplicas,
		AvailableReplicas: status.AvailableReplicas, ObservedGeneration: status.ObservedGeneration,
	}
	for _, c := range status.Conditions {
		converted.Conditions = append(converted.Conditions, corev1.ReplicationControllerCondition{
			Type: corev1.ReplicationControllerConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return converted
}
