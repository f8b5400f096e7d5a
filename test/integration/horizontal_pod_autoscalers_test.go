package integration_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A HorizontalPodAutoscaler scales its target by the metrics that another server serves. Here, these are custom resources
// of the same names. Without metrics, its conditions say what is missing.
func TestHorizontalPodAutoscalers(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("horizontalpodautoscaling"), miniapitest.WithCRDs("testdata/metrics.yaml"))
	client := srv.Client()
	const namespace = "default"
	labels := map[string]string{"app": "web"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Image: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
	}}}}
	sets := client.AppsV1().ReplicaSets(namespace)
	must(sets.Create(t.Context(), &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}, metav1.CreateOptions{}))(t)
	create := func(name, target string) {
		must(client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 10, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: target},
				Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(50))},
				}}}},
		}, metav1.CreateOptions{}))(t)
	}
	create("lost", "gone")
	autoscalerConditions(t, client, "lost", "AbleToScale=False:FailedGetScale")
	create("blind", "web")
	autoscalerConditions(t, client, "blind", "AbleToScale=True:SucceededGetScale", "ScalingActive=False:FailedGetResourceMetric")
	ok(t, client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Delete(t.Context(), "blind", metav1.DeleteOptions{}))

	for _, name := range []string{"web-1", "web-2"} {
		pod := must(client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: template.Spec}, metav1.CreateOptions{}))(t)
		pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &metav1.Time{Time: pod.CreationTimestamp.AddDate(0, 0, -1)}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: *pod.Status.StartTime}}
		must(client.CoreV1().Pods(namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}))(t)
		must(resources(srv, "metrics.k8s.io/v1beta1", "pods").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "metadata": map[string]any{"name": name, "labels": map[string]any{"app": "web"}},
			"timestamp": "2026-01-01T00:00:00Z", "window": "30s",
			"containers": []any{map[string]any{"name": "c", "usage": map[string]any{"cpu": "75m"}}},
		}}, metav1.CreateOptions{}))(t)
	}
	create("web", "web")
	autoscalerConditions(t, client, "web", "AbleToScale=True:SucceededRescale", "ScalingActive=True:ValidMetricFound", "ScalingLimited=False:DesiredWithinRange", "ScaledToZero=False:NotScaledToZero")
	if set := must(sets.Get(t.Context(), "web", metav1.GetOptions{}))(t); *set.Spec.Replicas != 3 {
		t.Errorf("75 of 100 are used of a target of 50: want 3 replicas, got %d", *set.Spec.Replicas)
	}
}

// autoscalerConditions waits until a HorizontalPodAutoscaler has conditions, each of the form TYPE=STATUS:REASON.
func autoscalerConditions(t *testing.T, client kubernetes.Interface, name string, want ...string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		found, err := client.AutoscalingV2().HorizontalPodAutoscalers("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var got []string
		for _, condition := range found.Status.Conditions {
			got = append(got, fmt.Sprintf("%s=%s:%s", condition.Type, condition.Status, condition.Reason))
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("want the conditions %q of %s, got %q", want, name, got)
		}
		return nil
	})
}
