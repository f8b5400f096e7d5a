package autoscaling

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// cpuUtilizationTarget is the target CPU utilization, in percent, of an autoscaler without metrics.
const cpuUtilizationTarget = 80

// cpuUtilization returns a metric whose target is an average CPU utilization of the pods, in percent of their
// requests.
func cpuUtilization(percent int32) autoscalingv2.MetricSpec {
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

// These are the annotations of autoscaling/v1 with the fields that only autoscaling/v2 has.
const (
	metricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
)

// dropAutoscalerAnnotations removes the annotations whose contents are fields of autoscaling/v2. In an object of v2,
// these annotations would be outdated copies of the fields.
func dropAutoscalerAnnotations(annotations map[string]string) {
	for _, name := range [...]string{
		metricsAnnotation,
		currentMetricsAnnotation,
		conditionsAnnotation,
		behaviorAnnotation,
		"autoscaling.alpha.kubernetes.io/scale-down-tolerance",
		"autoscaling.alpha.kubernetes.io/scale-up-tolerance",
	} {
		delete(annotations, name)
	}
}
