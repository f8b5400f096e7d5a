package horizontalpodautoscaler

import (
	"math"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// stabilization is the time for which earlier, higher recommendations hold, unless the autoscaler says otherwise.
const stabilization = 5 * time.Minute

// recommendation is a number of replicas that the metrics recommended at some time.
type recommendation struct {
	replicas int32
	at       time.Time
}

// change is the number of replicas that were added or removed at some time.
type change struct {
	replicas int32
	at       time.Time
}

// begin remembers the number of replicas at the first evaluation, as if it had been recommended.
func (m *memory) begin(current int32, now time.Time) {
	if m.recommendations == nil {
		m.recommendations = []recommendation{{current, now}}
	}
}

// recommend remembers a recommendation. It forgets those that are older than both windows.
func (m *memory) recommend(desired int32, now time.Time, windows ...time.Duration) {
	longest := slices.Max(windows)
	m.recommendations = append(slices.DeleteFunc(m.recommendations, func(r recommendation) bool { return r.at.Before(now.Add(-longest)) }), recommendation{desired, now})
}

// scaled remembers a change of the number of replicas. It forgets those that no policy considers any more.
func (m *memory) scaled(behavior *autoscalingv2.HorizontalPodAutoscalerBehavior, current, desired int32, now time.Time) {
	if behavior == nil {
		return
	}
	changes, rules, replicas := &m.ups, behavior.ScaleUp, desired-current
	if replicas < 0 {
		changes, rules, replicas = &m.downs, behavior.ScaleDown, -replicas
	}
	var longest time.Duration
	for _, policy := range rules.Policies {
		longest = max(longest, seconds(policy.PeriodSeconds))
	}
	*changes = append(slices.DeleteFunc(*changes, func(c change) bool { return c.at.Before(now.Add(-longest)) }), change{replicas, now})
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// changed returns the sum of the changes since a time.
func changed(changes []change, since time.Time) (replicas int32) {
	for _, c := range changes {
		if c.at.After(since) {
			replicas += c.replicas
		}
	}
	return replicas
}

// limit applies the limits of the autoscaler to a recommendation of its metrics.
func (e *evaluation) limit(desired, least int32) int32 {
	spec, current := &e.autoscaler.Spec, e.scale.Spec.Replicas
	stabilized, reason, message := e.stabilize(desired)
	if stabilized == desired {
		reason, message = "ReadyForNewScale", "recommended size matches current size"
	}
	e.set(autoscalingv2.AbleToScale, corev1.ConditionTrue, reason, "%s", message)

	lower, upper := bound{least, tooFew}, bound{spec.MaxReplicas, tooMany}
	if spec.Behavior == nil {
		if most := max(2*current, 4); most < upper.replicas {
			upper = bound{most, tooFast}
		}
	} else {
		lower.replicas = min(least, current) // a target may be scaled from zero in steps
		if most := max(current, e.memory.most(current, spec.Behavior.ScaleUp, e.now)); most < upper.replicas {
			upper = bound{most, tooFast}
		}
		if fewest := min(current, e.memory.fewest(current, spec.Behavior.ScaleDown, e.now)); fewest > lower.replicas {
			lower = bound{fewest, tooFastDown}
		}
	}
	status, limited := corev1.ConditionTrue, bound{stabilized, inRange}
	switch {
	case stabilized < lower.replicas:
		limited = lower
	case stabilized > upper.replicas:
		limited = upper
	default:
		status = corev1.ConditionFalse
	}
	e.set(autoscalingv2.ScalingLimited, status, limited.reason, "%s", limited.message)
	return limited.replicas
}

// bound is a least or greatest number of replicas, with its reason.
type bound struct {
	replicas int32
	limitation
}

// limitation is the reason and the message of the condition ScalingLimited.
type limitation struct{ reason, message string }

var (
	inRange     = limitation{"DesiredWithinRange", "the desired count is within the acceptable range"}
	tooFew      = limitation{"TooFewReplicas", "the desired replica count is less than the minimum replica count"}
	tooMany     = limitation{"TooManyReplicas", "the desired replica count is more than the maximum replica count"}
	tooFast     = limitation{"ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"}
	tooFastDown = limitation{"ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"}
)

// stabilize returns the number of replicas that recent recommendations allow: a target isn't scaled down below the highest
// of them, and not up above the lowest one. It also returns a reason and a message, in case the number differs.
func (e *evaluation) stabilize(desired int32) (stabilized int32, reason, message string) {
	up, down := time.Duration(0), stabilization
	behavior, current := e.autoscaler.Spec.Behavior, e.scale.Spec.Replicas
	if behavior != nil {
		up = seconds(ptr.Deref(behavior.ScaleUp.StabilizationWindowSeconds, 0))
		down = seconds(ptr.Deref(behavior.ScaleDown.StabilizationWindowSeconds, int32(stabilization/time.Second)))
	}
	lowest, highest := desired, desired
	for _, r := range e.memory.recommendations {
		if r.at.After(e.now.Add(-up)) {
			lowest = min(lowest, r.replicas)
		}
		if r.at.After(e.now.Add(-down)) {
			highest = max(highest, r.replicas)
		}
	}
	e.memory.recommend(desired, e.now, up, down)
	if behavior != nil && desired >= current {
		reason, message = "ScaleUpStabilized", "recent recommendations were lower than current one, applying the lowest recent recommendation"
	} else {
		reason, message = "ScaleDownStabilized", "recent recommendations were higher than current one, applying the highest recent recommendation"
	}
	if behavior == nil {
		return highest, reason, message
	}
	return min(max(current, lowest), highest), reason, message
}

// most returns the number of replicas to which policies allow to scale up.
func (m *memory) most(current int32, rules *autoscalingv2.HPAScalingRules, now time.Time) int32 {
	return m.bound(current, rules, now, func(start int32, policy autoscalingv2.HPAScalingPolicy) int32 {
		if policy.Type == autoscalingv2.PodsScalingPolicy {
			return start + policy.Value
		}
		return int32(math.Ceil(float64(start) * (1 + float64(policy.Value)/100)))
	}, slices.Min[[]int32], slices.Max[[]int32])
}

// fewest returns the number of replicas to which policies allow to scale down.
func (m *memory) fewest(current int32, rules *autoscalingv2.HPAScalingRules, now time.Time) int32 {
	return m.bound(current, rules, now, func(start int32, policy autoscalingv2.HPAScalingPolicy) int32 {
		if policy.Type == autoscalingv2.PodsScalingPolicy {
			return start - policy.Value
		}
		return int32(float64(start) * (1 - float64(policy.Value)/100))
	}, slices.Max[[]int32], slices.Min[[]int32])
}

// bound returns the number of replicas that the rules allow. The function allowed returns the number that one policy
// allows, of the number at the beginning of its period. The functions least and greatest choose the number of the policy
// with the least or the greatest change.
func (m *memory) bound(current int32, rules *autoscalingv2.HPAScalingRules, now time.Time,
	allowed func(start int32, policy autoscalingv2.HPAScalingPolicy) int32, least, greatest func([]int32) int32) int32 {
	choose := greatest
	switch ptr.Deref(rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect) {
	case autoscalingv2.DisabledPolicySelect:
		return current
	case autoscalingv2.MinChangePolicySelect:
		choose = least
	}
	var bounds []int32
	for _, policy := range rules.Policies {
		since := now.Add(-seconds(policy.PeriodSeconds))
		bounds = append(bounds, allowed(current-changed(m.ups, since)+changed(m.downs, since), policy))
	}
	if len(bounds) == 0 {
		return current
	}
	return choose(bounds)
}
