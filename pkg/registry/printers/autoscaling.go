package printers

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HorizontalPodAutoscaler is shown by what it scales and by its metrics.
var HorizontalPodAutoscaler = Of(
	[]Column{
		NameColumn,
		Text("Reference", Doc(autoscalingv2.HorizontalPodAutoscalerSpec{}, "scaleTargetRef")),
		Text("Targets", Doc(autoscalingv2.HorizontalPodAutoscalerSpec{}, "metrics")),
		Text("MinPods", Doc(autoscalingv2.HorizontalPodAutoscalerSpec{}, "minReplicas")),
		Text("MaxPods", Doc(autoscalingv2.HorizontalPodAutoscalerSpec{}, "maxReplicas")),
		Text("Replicas", Doc(autoscalingv2.HorizontalPodAutoscalerStatus{}, "currentReplicas")),
		AgeColumn,
	},
	func(h *autoscalingv2.HorizontalPodAutoscaler) []any {
		least := Unset
		if h.Spec.MinReplicas != nil {
			least = fmt.Sprint(*h.Spec.MinReplicas)
		}
		return []any{
			h.Name, h.Spec.ScaleTargetRef.Kind + "/" + h.Spec.ScaleTargetRef.Name, metrics(h), least,
			int64(h.Spec.MaxReplicas), int64(h.Status.CurrentReplicas), Since(h.CreationTimestamp),
		}
	})

// metrics shows the first metrics as their value and their target. Metrics and their
// statuses are in the same order.
func metrics(h *autoscalingv2.HorizontalPodAutoscaler) string {
	if len(h.Spec.Metrics) == 0 {
		return None
	}
	shown := make([]string, len(h.Spec.Metrics))
	for i := range h.Spec.Metrics {
		var status autoscalingv2.MetricStatus
		if i < len(h.Status.CurrentMetrics) {
			status = h.Status.CurrentMetrics[i]
		}
		shown[i] = metric(&h.Spec.Metrics[i], &status)
	}
	return First(2, shown, ", ")
}

// metric shows the one source that a metric has.
func metric(spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus) string {
	switch {
	case spec.External != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.External != nil {
			current = &status.External.Current
		}
		return valueMetric(&spec.External.Target, current)
	case spec.Object != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.Object != nil {
			current = &status.Object.Current
		}
		return valueMetric(&spec.Object.Target, current)
	case spec.Pods != nil:
		current := Unknown
		if status.Pods != nil {
			current = status.Pods.Current.AverageValue.String()
		}
		return current + "/" + spec.Pods.Target.AverageValue.String()
	case spec.Resource != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.Resource != nil {
			current = &status.Resource.Current
		}
		return string(spec.Resource.Name) + ": " + utilizationMetric(&spec.Resource.Target, current)
	case spec.ContainerResource != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.ContainerResource != nil {
			current = &status.ContainerResource.Current
		}
		return string(spec.ContainerResource.Name) + ": " + utilizationMetric(&spec.ContainerResource.Target, current)
	}
	return "<unknown type>"
}

// valueMetric is a metric with an average or a total as its target.
func valueMetric(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	value, suffix, wanted := Unknown, "", target.Value
	if target.AverageValue != nil {
		suffix, wanted = " (avg)", target.AverageValue
	}
	switch {
	case current == nil:
	case target.AverageValue == nil:
		value = current.Value.String()
	case current.AverageValue != nil:
		value = current.AverageValue.String()
	}
	return value + "/" + wanted.String() + suffix
}

// utilizationMetric is a metric with an average or a percentage of what is requested as
// its target.
func utilizationMetric(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	percent := func(p *int32, otherwise string) string {
		if p == nil {
			return otherwise
		}
		return fmt.Sprintf("%d%%", *p)
	}
	if target.AverageValue == nil {
		var utilization *int32
		if current != nil {
			utilization = current.AverageUtilization
		}
		return percent(utilization, Unknown) + "/" + percent(target.AverageUtilization, "<auto>")
	}
	value := Unknown
	if current != nil {
		value = current.AverageValue.String()
	}
	return value + "/" + target.AverageValue.String()
}

// Scale is shown as how many there should be, and are. It is what the scale
// subresources of workloads answer with.
var Scale = Of(
	[]Column{
		Text("Name", Doc(metav1.ObjectMeta{}, "name")),
		Number("Desired", Doc(autoscalingv1.ScaleSpec{}, "replicas")),
		Number("Available", Doc(autoscalingv1.ScaleStatus{}, "replicas")),
		AgeColumn,
	},
	func(s *autoscalingv1.Scale) []any {
		return []any{s.Name, int64(s.Spec.Replicas), int64(s.Status.Replicas), Since(s.CreationTimestamp)}
	})
