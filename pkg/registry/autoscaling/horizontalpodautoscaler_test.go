package autoscaling

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestAutoscalersToZero checks which autoscalers may leave no pods (KEP-2021).
func TestAutoscalersToZero(t *testing.T) {
	t.Parallel()
	cpu := autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: "cpu", Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](80)},
	}}
	one := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: ptr.To(resource.MustParse("1"))}
	queue := autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: "queue"}, Target: one,
	}}
	requests := autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
		DescribedObject: autoscalingv2.CrossVersionObjectReference{Kind: "Service", Name: "s"},
		Metric:          autoscalingv2.MetricIdentifier{Name: "requests"}, Target: one,
	}}
	for _, test := range []struct {
		name, reason string
		least        int32
		metrics      []autoscalingv2.MetricSpec
		want         []string
	}{
		{"by its pods", "without pods nothing tells that there should be some", 0, []autoscalingv2.MetricSpec{cpu},
			[]string{"spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas"}},
		{"by a queue", "it may fill while there are no pods", 0, []autoscalingv2.MetricSpec{cpu, queue}, nil},
		{"by an object", "it is measured without the pods", 0, []autoscalingv2.MetricSpec{requests}, nil},
		{"below zero", "there aren't fewer pods than none", -1, []autoscalingv2.MetricSpec{queue},
			[]string{"spec.minReplicas: Invalid value: -1: must be greater than or equal to 0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: registrytest.Stored("h"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "d"},
				MinReplicas:    &test.least, MaxReplicas: 2, Metrics: test.metrics,
			}}
			registrytest.WantErrors(t, test.reason, validateHorizontalPodAutoscaler(h), test.want...)
		})
	}
}
