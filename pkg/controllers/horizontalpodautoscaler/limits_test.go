package horizontalpodautoscaler

import (
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// rulesOf returns rules with a stabilization window in seconds.
func rulesOf(window int32, choice autoscalingv2.ScalingPolicySelect, policies ...autoscalingv2.HPAScalingPolicy) *autoscalingv2.HPAScalingRules {
	return &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &window, SelectPolicy: &choice, Policies: policies}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	pods := func(n, period int32) autoscalingv2.HPAScalingPolicy {
		return autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: n, PeriodSeconds: period}
	}
	percent := func(n, period int32) autoscalingv2.HPAScalingPolicy {
		return autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: n, PeriodSeconds: period}
	}
	const most, least, none = autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect, autoscalingv2.DisabledPolicySelect
	free := rulesOf(0, most, percent(10000, 15))
	drop := rulesOf(0, most, percent(100, 15))
	ago := func(seconds int) time.Time { return before(seconds).Time }
	for _, test := range []struct {
		name, reason     string
		up, down         *autoscalingv2.HPAScalingRules // without both, the autoscaler has no behavior
		memory           memory
		current, desired int32
		want             int32
		able, limited    string // the reasons of the conditions
	}{
		{"same", "nothing is to be done", nil, nil, memory{}, 5, 5, 5, "ReadyForNewScale", "DesiredWithinRange"},
		{"up", "the number is twice as large at most", nil, nil, memory{}, 5, 15, 10, "ReadyForNewScale", "ScaleUpLimit"},
		{"up from few", "four are always possible", nil, nil, memory{}, 1, 15, 4, "ReadyForNewScale", "ScaleUpLimit"},
		{"above the maximum", "the maximum counts", nil, nil, memory{}, 15, 30, 20, "ReadyForNewScale", "TooManyReplicas"},
		{"below the minimum", "the minimum counts", nil, nil, memory{}, 5, 1, 2, "ReadyForNewScale", "TooFewReplicas"},
		{"down, recently more", "the highest of five minutes counts", nil, nil, memory{recommendations: []recommendation{{9, ago(301)}, {7, ago(299)}}}, 9, 3, 7,
			"ScaleDownStabilized", "DesiredWithinRange"},
		{"policy of pods", "two may be added", rulesOf(0, most, pods(2, 60)), drop, memory{}, 5, 9, 7, "ReadyForNewScale", "ScaleUpLimit"},
		{"policy of a percentage", "the number is rounded up", rulesOf(0, most, percent(50, 60)), drop, memory{}, 5, 20, 8, "ReadyForNewScale", "ScaleUpLimit"},
		{"greatest change", "the policy that allows most counts", rulesOf(0, most, pods(2, 60), percent(100, 60)), drop, memory{}, 5, 20, 10, "ReadyForNewScale", "ScaleUpLimit"},
		{"least change", "the policy that allows least counts", rulesOf(0, least, pods(2, 60), percent(100, 60)), drop, memory{}, 5, 20, 7, "ReadyForNewScale", "ScaleUpLimit"},
		{"up is disabled", "the number stays", rulesOf(0, none, pods(2, 60)), drop, memory{}, 5, 20, 5, "ReadyForNewScale", "ScaleUpLimit"},
		{"recent changes", "one of two was added in the period", rulesOf(0, most, pods(2, 60)), drop, memory{ups: []change{{1, ago(30)}, {5, ago(61)}}}, 5, 9, 6, "ReadyForNewScale", "ScaleUpLimit"},
		{"changes in both directions", "removed pods may be added again", rulesOf(0, most, pods(2, 60)), drop, memory{downs: []change{{1, ago(30)}}}, 5, 9, 8, "ReadyForNewScale", "ScaleUpLimit"},
		{"policy of pods, down", "two may be removed", free, rulesOf(0, most, pods(2, 60)), memory{}, 9, 3, 7, "ReadyForNewScale", "ScaleDownLimit"},
		{"policy of a percentage, down", "the number is rounded down", free, rulesOf(0, most, percent(50, 60)), memory{}, 9, 3, 4, "ReadyForNewScale", "ScaleDownLimit"},
		{"least change, down", "the policy that allows least counts", free, rulesOf(0, least, pods(2, 60), percent(50, 60)), memory{}, 9, 3, 7, "ReadyForNewScale", "ScaleDownLimit"},
		{"down is disabled", "the number stays", free, rulesOf(0, none), memory{}, 9, 3, 9, "ReadyForNewScale", "ScaleDownLimit"},
		{"below the minimum, with rules", "the minimum counts", free, drop, memory{}, 9, 1, 2, "ReadyForNewScale", "TooFewReplicas"},
		{"above the maximum, with rules", "the maximum counts", free, drop, memory{}, 9, 30, 20, "ReadyForNewScale", "TooManyReplicas"},
		{"window up", "the lowest of the window counts", rulesOf(60, most, percent(10000, 15)), drop, memory{recommendations: []recommendation{{3, ago(61)}, {7, ago(30)}}}, 5, 9, 7,
			"ScaleUpStabilized", "DesiredWithinRange"},
		{"window down", "the highest of the window counts", free, rulesOf(60, most, percent(100, 15)), memory{recommendations: []recommendation{{8, ago(61)}, {6, ago(30)}}}, 9, 3, 6,
			"ScaleDownStabilized", "DesiredWithinRange"},
		{"default window down", "the window is five minutes", free, &autoscalingv2.HPAScalingRules{SelectPolicy: new(most), Policies: drop.Policies},
			memory{recommendations: []recommendation{{8, ago(301)}, {6, ago(299)}}}, 9, 3, 6, "ScaleDownStabilized", "DesiredWithinRange"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := evaluationOf(test.current, func(spec *autoscalingv2.HorizontalPodAutoscalerSpec) {
				if test.up != nil {
					spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: test.up, ScaleDown: test.down}
				}
			})
			e.memory = &test.memory
			if got := e.limit(test.desired, 2); got != test.want {
				t.Errorf("%s: want %d replicas, got %d", test.reason, test.want, got)
			}
			reasons := map[autoscalingv2.HorizontalPodAutoscalerConditionType]string{}
			for _, condition := range e.autoscaler.Status.Conditions {
				reasons[condition.Type] = condition.Reason
			}
			if able, limited := reasons[autoscalingv2.AbleToScale], reasons[autoscalingv2.ScalingLimited]; able != test.able || limited != test.limited {
				t.Errorf("%s: want the conditions %s and %s, got %s and %s", test.reason, test.able, test.limited, able, limited)
			}
		})
	}
}

// The controller forgets recommendations and changes that no rule considers any more.
func TestForget(t *testing.T) {
	t.Parallel()
	m := memory{
		recommendations: []recommendation{{1, before(301).Time}, {2, before(299).Time}},
		ups:             []change{{1, before(61).Time}, {2, before(59).Time}},
	}
	m.recommend(3, start, 0, stabilization)
	behavior := &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: rulesOf(0, autoscalingv2.MaxChangePolicySelect,
		autoscalingv2.HPAScalingPolicy{PeriodSeconds: 15}, autoscalingv2.HPAScalingPolicy{PeriodSeconds: 60})}
	m.scaled(behavior, 5, 8, start)
	if len(m.recommendations) != 2 || m.recommendations[0].replicas != 2 || m.recommendations[1].replicas != 3 {
		t.Errorf("want the recommendations of 2 and 3 replicas, got %v", m.recommendations)
	}
	if len(m.ups) != 2 || m.ups[0].replicas != 2 || m.ups[1].replicas != 3 || len(m.downs) != 0 {
		t.Errorf("want the changes by 2 and 3 replicas, got %v and %v", m.ups, m.downs)
	}
}
