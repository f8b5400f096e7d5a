package owned

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Order is the order in which the pods of an owner are deleted, if it has too many. The zero value is the order of a
// Job's pods: pods that have done least come first.
type Order struct {
	// Costs is true if a pod with a lower cost (see the annotation corev1.PodDeletionCost) comes first.
	Costs bool
	// Colocated has the number of related pods on each node, by its name. Pods of a node with more of them come first.
	Colocated map[string]int
	// Now, if it isn't zero, makes pods equal whose ages have the same order of magnitude.
	Now time.Time
}

// phases has the places of phases in the order.
var phases = map[corev1.PodPhase]int{corev1.PodPending: 0, corev1.PodUnknown: 1, corev1.PodRunning: 2}

// Compare returns a negative number if a is to be deleted before b, and a positive number if after.
func (o Order) Compare(a, b *corev1.Pod) int {
	since, ready := readySince(a)
	otherSince, otherReady := readySince(b)
	restarts, sidecars := maxRestarts(a)
	otherRestarts, otherSidecars := maxRestarts(b)
	return cmp.Or(
		truthFirst(a.Spec.NodeName == "", b.Spec.NodeName == ""),
		cmp.Compare(phases[a.Status.Phase], phases[b.Status.Phase]),
		truthFirst(!ready, !otherReady),
		cmp.Compare(o.cost(a), o.cost(b)),
		cmp.Compare(o.Colocated[b.Spec.NodeName], o.Colocated[a.Spec.NodeName]),
		o.younger(since, otherSince, a, b),
		cmp.Compare(otherRestarts, restarts),
		cmp.Compare(otherSidecars, sidecars),
		o.younger(a.CreationTimestamp.Time, b.CreationTimestamp.Time, a, b),
	)
}

func truthFirst(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// cost returns the cost of a pod's deletion. An invalid cost is 0: a number must not begin with a plus sign or a zero.
func (o Order) cost(pod *corev1.Pod) int64 {
	value := pod.Annotations[corev1.PodDeletionCost]
	if !o.Costs || value == "" || value[0] == '+' || value[0] == '0' {
		return 0
	}
	cost, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0
	}
	return cost
}

// younger compares the times since which two pods exist, or are ready. The later time comes first, and a time that is
// unknown before all others.
func (o Order) younger(since, otherSince time.Time, a, b *corev1.Pod) int {
	switch {
	case since.Equal(otherSince):
		return 0
	case since.IsZero() || otherSince.IsZero():
		return truthFirst(since.IsZero(), otherSince.IsZero())
	case o.Now.IsZero():
		return otherSince.Compare(since)
	}
	return cmp.Or(cmp.Compare(magnitude(o.Now.Sub(since)), magnitude(o.Now.Sub(otherSince))), strings.Compare(string(a.UID), string(b.UID)))
}

func magnitude(age time.Duration) int64 {
	if age <= 0 {
		return -1
	}
	return int64(math.Log2(float64(age)))
}

// maxRestarts returns the restarts of the containers and of the sidecars that were restarted most.
func maxRestarts(pod *corev1.Pod) (containers, sidecars int32) {
	for _, status := range pod.Status.ContainerStatuses {
		containers = max(containers, status.RestartCount)
	}
	for _, container := range pod.Spec.InitContainers {
		if container.RestartPolicy == nil || *container.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		for _, status := range pod.Status.InitContainerStatuses {
			if status.Name == container.Name {
				sidecars = max(sidecars, status.RestartCount)
			}
		}
	}
	return containers, sidecars
}
