package horizontalpodautoscaler

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
)

// used is an API of metrics in which a pod uses CPU, and no memory is measured.
type used struct {
	metricsclient.PodMetricsInterface
	cpu string
}

func (u used) PodMetricses(string) metricsclient.PodMetricsInterface { return u }

func (u used) List(context.Context, metav1.ListOptions) (*metricsv1beta1.PodMetricsList, error) {
	return &metricsv1beta1.PodMetricsList{Items: []metricsv1beta1.PodMetrics{{
		ObjectMeta: metav1.ObjectMeta{Name: "p"}, Timestamp: before(0),
		Containers: []metricsv1beta1.ContainerMetrics{{Name: "c", Usage: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(u.cpu)}}},
	}}}, nil
}

// A metric that fails doesn't keep the others from scaling up, but from scaling down.
func TestFailedMetric(t *testing.T) {
	t.Parallel()
	const failed = "invalid metrics (1 invalid out of 2), first error is: failed to get memory resource metric value: failed to get memory usage: did not receive metrics for targeted pods (pods might be unready)"
	for _, test := range []struct {
		name, reason, cpu string
		current, want     int32
		condition         autoscalingv2.HorizontalPodAutoscalerCondition
	}{
		{"up", "one metric is enough", "100m", 1, 2, autoscalingv2.HorizontalPodAutoscalerCondition{
			Status: corev1.ConditionTrue, Reason: "ValidMetricFound", Message: "the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)"}},
		{"down", "the other metric may need the pods", "10m", 2, -1, autoscalingv2.HorizontalPodAutoscalerCondition{
			Status: corev1.ConditionFalse, Reason: "FailedGetResourceMetric",
			Message: "the HPA was unable to compute the replica count: failed to get memory usage: did not receive metrics for targeted pods (pods might be unready)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				e := evaluationOf(test.current, func(spec *autoscalingv2.HorizontalPodAutoscalerSpec) {
					spec.Metrics = []autoscalingv2.MetricSpec{
						{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
							Name: corev1.ResourceMemory, Target: autoscalingv2.MetricTarget{AverageValue: new(resource.MustParse("1Mi"))}}},
						{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
							Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{AverageUtilization: new(int32(50))}}},
					}
				})
				pod := podOf("p", "ready")
				pod.Namespace, pod.Labels = "ns", map[string]string{"app": "web"}
				pods, err := controllertest.Informer(pod)
				if err != nil {
					t.Fatal(err)
				}
				e.key, e.scale.Status.Selector = cache.NewObjectName("ns", "h"), "app=web"
				e.controller = &controller{memories: map[cache.ObjectName]*memory{}, Config: Config{
					Pods: pods, Metrics: Metrics{Resources: used{cpu: test.cpu}}, Events: eventrecorder.NewRecorder(ctx, fake.NewSimpleClientset().CoreV1(), Account),
				}}
				got, _, err := e.proposeAll(ctx)
				if err == nil || err.Error() != failed || got != test.want {
					t.Errorf("%s: want %d replicas and the error %q, got %d, %v", test.reason, test.want, failed, got, err)
				}
				condition := e.autoscaler.Status.Conditions[0]
				if condition.Status != test.condition.Status || condition.Reason != test.condition.Reason || condition.Message != test.condition.Message {
					t.Errorf("%s: want the condition %+v, got %+v", test.reason, test.condition, condition)
				}
			})
		})
	}
}

// No pod may be selected by two autoscalers.
func TestSelectPods(t *testing.T) {
	t.Parallel()
	web, db := cache.NewObjectName("ns", "web"), cache.NewObjectName("ns", "db")
	for _, test := range []struct {
		name, reason, selector, other string
		want                          string
	}{
		{"alone", "the other one selects other pods", "app=web", "app=db", ""},
		{"ambiguous", "both select the pod", "app=web", "app", "AmbiguousSelector"},
		{"missing", "the scale has no selector", "", "app=db", "InvalidSelector"},
		{"malformed", "the selector can't be parsed", "app=(", "app=db", "InvalidSelector"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := podOf("p", "ready")
			pod.Namespace, pod.Labels = "ns", map[string]string{"app": "web"}
			pods, err := controllertest.Informer(pod)
			if err != nil {
				t.Fatal(err)
			}
			other, err := labels.Parse(test.other)
			if err != nil {
				t.Fatal(err)
			}
			e := evaluationOf(1, nil)
			e.key, e.scale.Status.Selector = web, test.selector
			e.controller = &controller{memories: map[cache.ObjectName]*memory{web: e.memory, db: {selector: other}}, Config: Config{
				Pods: pods, Events: eventrecorder.NewRecorder(t.Context(), fake.NewSimpleClientset().CoreV1(), Account),
			}}
			err = e.selectPods()
			var reason string
			if err != nil {
				reason = e.autoscaler.Status.Conditions[0].Reason
			}
			if reason != test.want {
				t.Errorf("%s: want the reason %q, got %q, %v", test.reason, test.want, reason, err)
			}
			if test.want == "AmbiguousSelector" && !strings.Contains(err.Error(), "ns/db") {
				t.Errorf("want the autoscaler ns/db named, got %v", err)
			}
		})
	}
}
