package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// refuseClaimsInUse refuses all nodes while another pod uses a claim of the pod with the access mode ReadWriteOncePod,
// on whichever node.
func refuseClaimsInUse(c *cycle) (filter, *refusal) {
	exclusive := sets.New[string]()
	for name := range claimNames(c.pod.Pod) {
		claim, err := c.storage.claims.PersistentVolumeClaims(c.pod.Namespace).Get(name)
		if err == nil && slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			exclusive.Insert(name)
		}
	}
	if exclusive.Len() == 0 {
		return nil, nil
	}
	users := 0
	count := func(pod *podInfo, _ *node, by int) {
		if pod.Namespace == c.pod.Namespace && exclusive.HasAny(sets.KeySet(claimNames(pod.Pod)).UnsortedList()...) {
			users += by
		}
	}
	for _, pod := range c.pods {
		count(pod, pod.on, 1)
	}
	if users == 0 {
		return nil, nil
	}
	c.follow(count)
	inUse := &refusal{reasons: []string{"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"}}
	return func(*node) *refusal {
		if users > 0 {
			return inUse
		}
		return nil
	}, nil
}

func claimsInUseAfterPod(pod, before, after *podInfo) bool {
	return after == nil && pod.Namespace == before.Namespace &&
		sets.KeySet(claimNames(pod.Pod)).HasAny(sets.KeySet(claimNames(before.Pod)).UnsortedList()...)
}
