package defaults

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// CPUUtilizationTarget is what an autoscaler without metrics aims at, in percent.
const CPUUtilizationTarget = 80

// HorizontalPodAutoscaler sets the defaults of an autoscaling/v2
// HorizontalPodAutoscaler.
func HorizontalPodAutoscaler(h *autoscalingv2.HorizontalPodAutoscaler) {
	DropAutoscalerAnnotations(h.Annotations)
	Pointer(&h.Spec.MinReplicas, 1)
	if len(h.Spec.Metrics) == 0 {
		h.Spec.Metrics = []autoscalingv2.MetricSpec{CPUUtilization(CPUUtilizationTarget)}
	}
	if b := h.Spec.Behavior; b != nil {
		b.ScaleUp = scalingRules(b.ScaleUp, autoscalingv2.HPAScalingRules{
			StabilizationWindowSeconds: new(int32),
			Policies: []autoscalingv2.HPAScalingPolicy{
				{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
				{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15},
			},
		})
		b.ScaleDown = scalingRules(b.ScaleDown, autoscalingv2.HPAScalingRules{
			Policies: []autoscalingv2.HPAScalingPolicy{
				{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15},
			},
		})
	}
}

// CPUUtilization is a metric: the average CPU utilization of the pods, in percent
// of what they request.
func CPUUtilization(percent int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{
				Type:               autoscalingv2.UtilizationMetricType,
				AverageUtilization: &percent,
			},
		},
	}
}

// scalingRules completes the rules of one direction.
func scalingRules(rules *autoscalingv2.HPAScalingRules, unset autoscalingv2.HPAScalingRules) *autoscalingv2.HPAScalingRules {
	if rules == nil {
		rules = &autoscalingv2.HPAScalingRules{}
	}
	Pointer(&rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if rules.StabilizationWindowSeconds == nil {
		rules.StabilizationWindowSeconds = unset.StabilizationWindowSeconds
	}
	if rules.Policies == nil {
		rules.Policies = unset.Policies
	}
	return rules
}

// Annotations in which autoscaling/v1 carries what are fields in autoscaling/v2.
const (
	MetricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	CurrentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	ConditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
	BehaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
)

// DropAutoscalerAnnotations removes the annotations that stand for fields: beside
// the fields themselves they would be stale copies.
func DropAutoscalerAnnotations(annotations map[string]string) {
	for _, name := range [...]string{
		MetricsAnnotation,
		CurrentMetricsAnnotation,
		ConditionsAnnotation,
		BehaviorAnnotation,
		"autoscaling.alpha.kubernetes.io/scale-down-tolerance",
		"autoscaling.alpha.kubernetes.io/scale-up-tolerance",
	} {
		delete(annotations, name)
	}
}

// AutoscalingV1HorizontalPodAutoscaler sets the defaults of an autoscaling/v1
// HorizontalPodAutoscaler. Its metrics are defaulted when it is converted, since
// they may be in an annotation.
func AutoscalingV1HorizontalPodAutoscaler(h *autoscalingv1.HorizontalPodAutoscaler) {
	Pointer(&h.Spec.MinReplicas, 1)
}
