package replicaset

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// relevant returns pod events without the updates that change nothing for a set, such as the binding of a pod to its node.
// To handle a set is to look at all its pods.
func (c *controller) relevant(pods work.Events) work.Events {
	all := pods.Updated
	pods.Updated = func(before, after metav1.Object) {
		if !c.countAlike(before, after) {
			all(before, after)
		}
	}
	return pods
}

// countAlike reports whether a pod counts for its set as before a change.
func (c *controller) countAlike(before, after metav1.Object) bool {
	old, isPod := before.(*corev1.Pod)
	pod, stillPod := after.(*corev1.Pod)
	if !isPod || !stillPod {
		return false
	}
	was, is := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(pod)
	return was != nil && is != nil && was.UID == is.UID &&
		owned.IsActive(old) == owned.IsActive(pod) && owned.IsTerminating(old) == owned.IsTerminating(pod) &&
		owned.ReadyAlike(old, pod) && c.labelledAlike(is, old, pod)
}

// labelledAlike reports whether the labels of a pod match those of its set as before a change.
func (c *controller) labelledAlike(controller *metav1.OwnerReference, old, pod *corev1.Pod) bool {
	if maps.Equal(old.Labels, pod.Labels) {
		return true
	}
	obj, exists, err := c.Sets.GetStore().GetByKey(owned.Key(&metav1.ObjectMeta{Namespace: pod.Namespace, Name: controller.Name}))
	if err != nil || !exists {
		return false
	}
	selector, err := c.selector(obj)
	if err != nil {
		return false
	}
	template := labels.SelectorFromSet(c.API.view(obj).Spec.Template.Labels)
	was, is := labels.Set(old.Labels), labels.Set(pod.Labels)
	return selector.Matches(was) == selector.Matches(is) && template.Matches(was) == template.Matches(is)
}
