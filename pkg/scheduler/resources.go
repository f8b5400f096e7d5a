package scheduler

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
)

// amounts has amounts of resources: the CPU in thousandths, and the others in their units.
type amounts struct {
	cpu, memory, storage int64
	others               map[corev1.ResourceName]int64
}

func amountsOf(list corev1.ResourceList) (a amounts) {
	for name, quantity := range list {
		switch name {
		case corev1.ResourceCPU:
			a.cpu = quantity.MilliValue()
		case corev1.ResourceMemory:
			a.memory = quantity.Value()
		case corev1.ResourceEphemeralStorage:
			a.storage = quantity.Value()
		case corev1.ResourcePods:
		default:
			if a.others == nil {
				a.others = map[corev1.ResourceName]int64{}
			}
			a.others[name] = quantity.Value()
		}
	}
	return a
}

// add adds the amounts of b, multiplied by a factor.
func (a *amounts) add(b amounts, by int64) {
	a.cpu += by * b.cpu
	a.memory += by * b.memory
	a.storage += by * b.storage
	for name, amount := range b.others {
		if a.others == nil {
			a.others = map[corev1.ResourceName]int64{}
		}
		a.others[name] += by * amount
	}
}

// minimum has what the scores count for a container that requests nothing. The values are kube-scheduler's.
var minimum = corev1.ResourceList{
	corev1.ResourceCPU:    *apiresource.NewMilliQuantity(100, apiresource.DecimalSI),
	corev1.ResourceMemory: *apiresource.NewQuantity(200<<20, apiresource.BinarySI),
}

// requestsOf returns the requests of a pod, and what the scores count as its requests.
func requestsOf(pod *corev1.Pod) (requests, scored amounts) {
	options := resource.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true}
	requests = amountsOf(resource.PodRequests(pod, options))
	options.NonMissingContainerRequests = minimum
	return requests, amountsOf(resource.PodRequests(pod, options))
}

// refuseResources refuses the nodes that have too little of a resource left.
func refuseResources(c *cycle) (filter, *refusal) {
	want := c.pod.requests
	others := slices.Sorted(maps.Keys(want.others))
	return func(n *node) *refusal {
		var (
			reasons []string
			final   bool
		)
		if len(n.pods)+1 > n.slots {
			reasons = append(reasons, "Too many pods")
		}
		check := func(name corev1.ResourceName, want, allocatable, requested int64) {
			if want > 0 && want > allocatable-requested {
				reasons = append(reasons, "Insufficient "+string(name))
				final = final || want > allocatable
			}
		}
		check(corev1.ResourceCPU, want.cpu, n.allocatable.cpu, n.requested.cpu)
		check(corev1.ResourceMemory, want.memory, n.allocatable.memory, n.requested.memory)
		check(corev1.ResourceEphemeralStorage, want.storage, n.allocatable.storage, n.requested.storage)
		for _, name := range others {
			check(name, want.others[name], n.allocatable.others[name], n.requested.others[name])
		}
		if reasons == nil {
			return nil
		}
		return &refusal{reasons: reasons, final: final}
	}, nil
}

// resourcesAfterNode reports whether the pod fits on a node without pods, and whether the node has more than before.
func resourcesAfterNode(pod *podInfo, before, after *corev1.Node) bool {
	if after == nil {
		return false
	}
	empty := newCluster()
	empty.setNode(after)
	fits, _ := refuseResources(&cycle{pod: pod})
	if fits(empty.existing[0]) != nil {
		return false
	}
	if before == nil {
		return true
	}
	was, is := amountsOf(before.Status.Allocatable), amountsOf(after.Status.Allocatable)
	want := pod.requests
	more := after.Status.Allocatable.Pods().Cmp(*before.Status.Allocatable.Pods()) > 0 ||
		want.cpu > 0 && is.cpu > was.cpu || want.memory > 0 && is.memory > was.memory || want.storage > 0 && is.storage > was.storage
	for name, amount := range want.others {
		more = more || amount > 0 && is.others[name] > was.others[name]
	}
	return more
}

// resourcesAfterPod reports whether a pod has left a node, or requests less of a resource that the waiting pod requests.
func resourcesAfterPod(pod, before, after *podInfo) bool {
	if before == nil {
		return false
	}
	if after == nil {
		return true
	}
	want, was, is := pod.requests, before.requests, after.requests
	less := want.cpu > 0 && is.cpu < was.cpu || want.memory > 0 && is.memory < was.memory || want.storage > 0 && is.storage < was.storage
	for name, amount := range want.others {
		less = less || amount > 0 && is.others[name] < was.others[name]
	}
	return less
}

// resourcesAfterItself reports whether a waiting pod requests less than before.
func resourcesAfterItself(before, after *podInfo) bool {
	return resourcesAfterPod(after, before, after)
}

// scoreLeastAllocated prefers the nodes of which the least is requested.
func scoreLeastAllocated(c *cycle, nodes []*node) []int64 {
	scores := make([]int64, len(nodes))
	for i, n := range nodes {
		var sum, of int64
		for _, r := range [][2]int64{
			{n.allocatable.cpu, n.scored.cpu + c.pod.scored.cpu},
			{n.allocatable.memory, n.scored.memory + c.pod.scored.memory},
		} {
			allocatable, requested := r[0], r[1]
			if allocatable == 0 {
				continue
			}
			of++
			if requested <= allocatable {
				sum += (allocatable - requested) * maxScore / allocatable
			}
		}
		if of > 0 {
			scores[i] = sum / of
		}
	}
	return scores
}

// scoreBalancedAllocation prefers the nodes of which the pod makes the requested fractions of CPU and memory more alike.
func scoreBalancedAllocation(c *cycle, nodes []*node) []int64 {
	want := c.pod.requests
	if want.cpu == 0 && want.memory == 0 {
		return nil
	}
	scores := make([]int64, len(nodes))
	for i, n := range nodes {
		with := balance(n.requested.cpu+want.cpu, n.requested.memory+want.memory, n.allocatable)
		without := balance(n.requested.cpu, n.requested.memory, n.allocatable)
		scores[i] = maxScore/2 + (maxScore/2+with-without)/2
	}
	return scores
}

// balance returns the score of requested amounts: the highest if the requested fractions of CPU and memory are equal.
func balance(cpu, memory int64, allocatable amounts) int64 {
	if allocatable.cpu == 0 || allocatable.memory == 0 {
		return maxScore
	}
	difference := min(float64(cpu)/float64(allocatable.cpu), 1) - min(float64(memory)/float64(allocatable.memory), 1)
	return int64((1 - math.Abs(difference/2)) * maxScore)
}
