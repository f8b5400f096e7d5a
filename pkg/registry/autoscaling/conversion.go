package autoscaling

import (
	"encoding/json"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// conversions convert autoscalers. Of the metrics, v1 has a field only for the average CPU utilization of the pods.
// Annotations of v1 have the other metrics, the conditions and the behavior.
func conversions() []conversion.Function {
	return []conversion.Function{conversion.Renamed(autoscalerFromV1), conversion.Renamed(autoscalerToV1)}
}

func autoscalerFromV1(in *autoscalingv1.HorizontalPodAutoscaler, out *autoscalingv2.HorizontalPodAutoscaler) error {
	// A malformed annotation is ignored.
	var metrics []autoscalingv1.MetricSpec
	if decodeAnnotation(in.Annotations, metricsAnnotation, &metrics) {
		out.Spec.Metrics = mapped(metrics, metricFromV1)
	}
	if percent := in.Spec.TargetCPUUtilizationPercentage; percent != nil {
		out.Spec.Metrics = append(out.Spec.Metrics, cpuUtilization(*percent))
	}
	if len(out.Spec.Metrics) == 0 {
		out.Spec.Metrics = []autoscalingv2.MetricSpec{cpuUtilization(cpuUtilizationTarget)}
	}
	// The annotation has the names of Go fields. They differ from the JSON names of v2 only in their case, which
	// package json ignores.
	var behavior autoscalingv2.HorizontalPodAutoscalerBehavior
	if decodeAnnotation(in.Annotations, behaviorAnnotation, &behavior) && behavior != (autoscalingv2.HorizontalPodAutoscalerBehavior{}) {
		out.Spec.Behavior = &behavior
	}

	var current []autoscalingv1.MetricStatus
	if decodeAnnotation(in.Annotations, currentMetricsAnnotation, &current) {
		out.Status.CurrentMetrics = mapped(current, metricStatusFromV1)
	} else if percent := in.Status.CurrentCPUUtilizationPercentage; percent != nil {
		out.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name:    corev1.ResourceCPU,
				Current: autoscalingv2.MetricValueStatus{AverageUtilization: percent},
			},
		}}
	}
	var conditions []autoscalingv2.HorizontalPodAutoscalerCondition
	if decodeAnnotation(in.Annotations, conditionsAnnotation, &conditions) {
		out.Status.Conditions = conditions
	}
	dropAutoscalerAnnotations(out.Annotations)
	return nil
}

func autoscalerToV1(in *autoscalingv2.HorizontalPodAutoscaler, out *autoscalingv1.HorizontalPodAutoscaler) error {
	dropAutoscalerAnnotations(out.Annotations)

	var others []autoscalingv1.MetricSpec
	for i := range in.Spec.Metrics {
		m := &in.Spec.Metrics[i]
		if r := m.Resource; m.Type != autoscalingv2.ResourceMetricSourceType || r == nil ||
			r.Name != corev1.ResourceCPU || r.Target.AverageUtilization == nil {
			others = append(others, metricToV1(*m))
		} else if out.Spec.TargetCPUUtilizationPercentage == nil {
			out.Spec.TargetCPUUtilizationPercentage = r.Target.AverageUtilization
		}
	}
	for _, m := range in.Status.CurrentMetrics {
		if r := m.Resource; m.Type == autoscalingv2.ResourceMetricSourceType && r != nil &&
			r.Name == corev1.ResourceCPU && r.Current.AverageUtilization != nil {
			out.Status.CurrentCPUUtilizationPercentage = r.Current.AverageUtilization
		}
	}

	annotations := map[string]any{}
	if len(others) > 0 {
		annotations[metricsAnnotation] = others
	}
	if len(in.Status.CurrentMetrics) > 0 {
		annotations[currentMetricsAnnotation] = mapped(in.Status.CurrentMetrics, metricStatusToV1)
	}
	if in.Spec.Behavior != nil {
		annotations[behaviorAnnotation] = goNames(in.Spec.Behavior)
	}
	if len(in.Status.Conditions) > 0 {
		annotations[conditionsAnnotation] = in.Status.Conditions
	}
	for name, value := range annotations {
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("annotation %s: %w", name, err)
		}
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		out.Annotations[name] = string(data)
	}
	return nil
}

// decodeAnnotation decodes the JSON in an annotation. It returns false if the annotation is missing or malformed.
func decodeAnnotation(annotations map[string]string, name string, into any) bool {
	value, found := annotations[name]
	return found && json.Unmarshal([]byte(value), into) == nil
}

func mapped[In, Out any](in []In, convert func(In) Out) []Out {
	out := make([]Out, len(in))
	for i := range in {
		out[i] = convert(in[i])
	}
	return out
}

// These types have the field names of kube-apiserver's internal types. The annotation with the behavior has the same
// names.
type (
	goBehavior struct {
		ScaleUp, ScaleDown *goScalingRules
	}
	goScalingRules struct {
		StabilizationWindowSeconds *int32
		SelectPolicy               *autoscalingv2.ScalingPolicySelect
		Policies                   []goScalingPolicy
		Tolerance                  *resource.Quantity
	}
	goScalingPolicy struct {
		Type          autoscalingv2.HPAScalingPolicyType
		Value         int32
		PeriodSeconds int32
	}
)

func goNames(b *autoscalingv2.HorizontalPodAutoscalerBehavior) goBehavior {
	rules := func(in *autoscalingv2.HPAScalingRules) *goScalingRules {
		if in == nil {
			return nil
		}
		out := &goScalingRules{
			StabilizationWindowSeconds: in.StabilizationWindowSeconds,
			SelectPolicy:               in.SelectPolicy,
			Tolerance:                  in.Tolerance,
		}
		for _, p := range in.Policies {
			out.Policies = append(out.Policies, goScalingPolicy(p))
		}
		return out
	}
	return goBehavior{ScaleUp: rules(b.ScaleUp), ScaleDown: rules(b.ScaleDown)}
}
