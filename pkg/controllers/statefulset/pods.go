package statefulset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// create creates a pod and its claims.
func (u *update) create(ctx context.Context, pod *corev1.Pod) error {
	if err := u.createClaims(ctx, u.set, pod); err != nil {
		u.tell("Create", pod, err)
		return err
	}
	_, err := u.Core.Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := u.retain(ctx, u.set, pod); err != nil {
		u.tell("Update", pod, err)
		return err
	}
	u.tell("Create", pod, err)
	return err
}

// correct gives a pod its labels and volumes, and its claims their owners.
func (u *update) correct(ctx context.Context, pod *corev1.Pod) error {
	identified, claimed, retained := pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name, hasClaims(u.set, pod), u.areRetained(u.set, pod)
	if identified && claimed && retained {
		return nil
	}
	pod = pod.DeepCopy()
	if !identified {
		identify(pod)
	}
	if !claimed {
		mountClaims(u.set, pod)
		if err := u.createClaims(ctx, u.set, pod); err != nil {
			u.tell("Update", pod, err)
			return err
		}
	}
	if !retained {
		if err := u.retain(ctx, u.set, pod); err != nil {
			u.tell("Update", pod, err)
			return err
		}
	}
	_, err := u.Core.Pods(pod.Namespace).Update(ctx, pod, metav1.UpdateOptions{})
	u.tell("Update", pod, err)
	return err
}

// delete deletes a pod.
func (u *update) delete(ctx context.Context, pod *corev1.Pod) error {
	err := work.IgnoreGone(u.Core.Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{}))
	u.tell("Delete", pod, err)
	return err
}

// tell records an Event of a request for a pod.
func (u *update) tell(verb string, pod *corev1.Pod, err error) {
	if err != nil {
		u.Events.Warn(u.set, "Failed"+verb, "%s Pod %s in StatefulSet %s failed error: %s", verb, pod.Name, u.set.Name, err)
		return
	}
	u.Events.Tell(u.set, "Successful"+verb, "%s Pod %s in StatefulSet %s successful", verb, pod.Name, u.set.Name)
}
