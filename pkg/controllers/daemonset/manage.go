package daemonset

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// manage adds the changes of a node: a node that needs a pod has one, and no more. During an update with a surge, it may
// have an old pod and a new one.
func (r *rollout) manage(node *corev1.Node, c *changes) {
	runs, stays := r.placement.on(node)
	pods := r.pods[node.Name]
	switch {
	case runs && len(pods) == 0:
		c.create = append(c.create, node.Name)
	case !stays:
		for _, pod := range pods {
			if pod.DeletionTimestamp == nil {
				c.delete = append(c.delete, pod)
			}
		}
	default:
		running := r.deleteEnded(node, pods, c)
		switch {
		case !r.surges():
			if len(running) > 1 {
				c.delete = append(c.delete, running[1:]...)
			}
		case len(running) == 0 && runs:
			c.create = append(c.create, node.Name)
		case len(running) > 1:
			r.keepTwo(running, c)
		}
	}
}

// deleteEnded deletes pods of a node that have ended, and returns the others that aren't being deleted.
func (r *rollout) deleteEnded(node *corev1.Node, pods []*corev1.Pod, c *changes) (running []*corev1.Pod) {
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
		case pod.Status.Phase == corev1.PodFailed:
			if r.mayDeleteFailed(node.Name) {
				r.Pods.Events.Warn(r.set, "FailedDaemonPod", "Found failed daemon pod %s/%s on node %s, will try to kill it", pod.Namespace, pod.Name, node.Name)
				c.delete = append(c.delete, pod)
			}
		case pod.Status.Phase == corev1.PodSucceeded:
			r.Pods.Events.Tell(r.set, "SucceededDaemonPod", "Found succeeded daemon pod %s/%s on node %s, will try to delete it", pod.Namespace, pod.Name, node.Name)
			c.delete = append(c.delete, pod)
		default:
			running = append(running, pod)
		}
	}
	return running
}

// keepTwo keeps the oldest new pod and the oldest old pod of a node, as long as the old one is ready and the new one isn't
// available. It deletes all others.
func (r *rollout) keepTwo(pods []*corev1.Pod, c *changes) {
	var newest, old *corev1.Pod
	for _, pod := range pods {
		kept := &old
		if pod.Labels[hashLabel] == r.hash {
			kept = &newest
		}
		if *kept == nil {
			*kept = pod
		} else {
			c.delete = append(c.delete, pod)
		}
	}
	if newest != nil && old != nil && (!owned.IsReady(old) || r.isAvailable(newest)) {
		c.delete = append(c.delete, old)
	}
}
