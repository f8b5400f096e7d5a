package scheduler

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// candidate is a node that a pod can get if the victims are deleted. The most important victim comes first.
type candidate struct {
	*node
	victims    []*podInfo
	violations int // the number of victims whose deletion violates a PodDisruptionBudget
}

// preempt looks for a node that the pod can get if pods of a lower priority are deleted. It returns nil if there is none,
// and a message for the pod's condition.
func (c *cycle) preempt(refused verdicts, budgets []*policyv1.PodDisruptionBudget) (best *candidate, keep bool, message string) {
	if policy := c.pod.Spec.PreemptionPolicy; policy != nil && *policy == corev1.PreemptNever {
		return nil, true, "not eligible due to preemptionPolicy=Never."
	}
	if c.awaitsVictims(refused) {
		return nil, true, "not eligible due to a terminating pod on the nominated node."
	}
	unhelpful := verdicts{}
	for _, n := range c.existing {
		r := refused[n.name]
		if r == nil || r.final {
			unhelpful[n.name] = &refusal{reasons: []string{"Preemption is not helpful for scheduling"}}
			continue
		}
		victims, violations, r := c.victims(n, budgets)
		if r != nil {
			unhelpful[n.name] = r
			continue
		}
		if found := (&candidate{n, victims, violations}); best == nil || found.compare(best) < 0 {
			best = found
		}
	}
	if best == nil {
		return nil, false, unavailable(len(c.existing), unhelpful)
	}
	return best, false, fmt.Sprintf("found a potential placement for pod on node %s, preempting %d victims", best.name, len(best.victims))
}

// awaitsVictims reports whether pods that the pod has preempted still terminate on the node for which it waits. If the
// node has become useless to the pod, they don't count.
func (c *cycle) awaitsVictims(refused verdicts) bool {
	n := c.nodes[c.pod.waitsFor]
	if n == nil || refused[n.name] != nil && refused[n.name].final {
		return false
	}
	for _, pod := range n.pods {
		if pod.DeletionTimestamp == nil || pod.priority >= c.pod.priority {
			continue
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue && condition.Reason == corev1.PodReasonPreemptionByScheduler {
				return true
			}
		}
	}
	return false
}

// victims returns the pods of a node that must be deleted for the pod. It spares as many as possible, and first those
// whose deletion violates a budget. The node is the same afterwards.
func (c *cycle) victims(n *node, budgets []*policyv1.PodDisruptionBudget) (victims []*podInfo, violations int, r *refusal) {
	var lower []*podInfo
	for _, pod := range n.pods {
		if pod.priority < c.pod.priority {
			lower = append(lower, pod)
		}
	}
	if len(lower) == 0 {
		return nil, 0, &refusal{reasons: []string{"No preemption victims found for incoming pod"}}
	}
	for _, pod := range lower {
		c.take(pod, n)
	}
	if r := c.refuse(n); r != nil {
		for _, pod := range lower {
			c.put(pod, n)
		}
		return nil, 0, r
	}
	slices.SortFunc(lower, moreImportant)
	violating, others := split(lower, budgets)
	for _, pod := range slices.Concat(violating, others) {
		if c.put(pod, n); c.refuse(n) == nil {
			continue
		}
		c.take(pod, n)
		victims = append(victims, pod)
		if slices.Contains(violating, pod) {
			violations++
		}
	}
	for _, pod := range victims {
		c.put(pod, n)
	}
	slices.SortFunc(victims, moreImportant)
	return victims, violations, nil
}

// moreImportant compares pods: the pod with the higher priority comes first, or else the one that has run for longer.
func moreImportant(a, b *podInfo) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), started(a).Compare(started(b)), cmp.Compare(a.UID, b.UID))
}

// started returns the start time of a pod. A pod that hasn't started is about to start.
func started(pod *podInfo) time.Time {
	if pod.Status.StartTime == nil {
		return time.Now()
	}
	return pod.Status.StartTime.Time
}

// split divides pods into those whose deletion violates a budget, and the others. The deletions happen in the order of
// the pods.
func split(pods []*podInfo, budgets []*policyv1.PodDisruptionBudget) (violating, others []*podInfo) {
	allowed := make([]int32, len(budgets))
	for i, budget := range budgets {
		allowed[i] = budget.Status.DisruptionsAllowed
	}
	for _, pod := range pods {
		violates := false
		for i, budget := range budgets {
			if !selects(budget, pod.Pod) {
				continue
			}
			if allowed[i]--; allowed[i] < 0 {
				violates = true
				break
			}
		}
		if violates {
			violating = append(violating, pod)
		} else {
			others = append(others, pod)
		}
	}
	return violating, others
}

// selects reports whether a budget counts the deletion of a pod. It doesn't count a pod that it already counts as
// disrupted.
func selects(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	if budget.Namespace != pod.Namespace || len(pod.Labels) == 0 {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil || selector.Empty() || !selector.Matches(labels.Set(pod.Labels)) {
		return false
	}
	_, disrupted := budget.Status.DisruptedPods[pod.Name]
	return !disrupted
}

// compare returns a negative number if the victims of a are less important than those of b.
func (a *candidate) compare(b *candidate) int {
	return cmp.Or(
		cmp.Compare(a.violations, b.violations),
		cmp.Compare(a.victims[0].priority, b.victims[0].priority),
		cmp.Compare(a.priorities(), b.priorities()),
		cmp.Compare(len(a.victims), len(b.victims)),
		b.earliest().Compare(a.earliest()),
	)
}

// priorities returns the sum of the victims' priorities. Each is made positive first, so that more victims of a negative
// priority aren't a lower sum.
func (a *candidate) priorities() (sum int64) {
	for _, pod := range a.victims {
		sum += int64(pod.priority) + math.MaxInt32 + 1
	}
	return sum
}

// earliest returns the earliest start time of the victims with the highest priority.
func (a *candidate) earliest() time.Time {
	earliest := started(a.victims[0])
	for _, pod := range a.victims {
		if at := started(pod); pod.priority == a.victims[0].priority && at.Before(earliest) {
			earliest = at
		}
	}
	return earliest
}

// remains reports whether a victim isn't being deleted yet.
func remains(victim *podInfo) bool { return victim.DeletionTimestamp == nil }

// preempted returns the condition of a victim of a pod.
func preempted(victim *podInfo) *corev1.PodCondition {
	return &corev1.PodCondition{
		Type: corev1.DisruptionTarget, ObservedGeneration: victim.Generation, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
		Message: fmt.Sprintf("%s: preempting to accommodate a higher priority pod", Name),
	}
}
