package horizontalpodautoscaler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// start is the time of the evaluations.
var start = time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)

// before returns a time that is some seconds before start.
func before(seconds int) metav1.Time {
	return metav1.NewTime(start.Add(-time.Duration(seconds) * time.Second))
}

// evaluationOf returns an evaluation of a target that has some replicas.
func evaluationOf(current int32, change func(*autoscalingv2.HorizontalPodAutoscalerSpec)) *evaluation {
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 20}}
	if change != nil {
		change(&autoscaler.Spec)
	}
	return &evaluation{
		memory: &memory{}, autoscaler: autoscaler, now: start,
		scale: &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: current}, Status: autoscalingv1.ScaleStatus{Replicas: current}},
	}
}

// podOf returns a pod that requests 100m of CPU, with this name and state.
func podOf(name, state string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: new(before(3600))}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}}}}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: before(3600)}
	switch state {
	case "pending":
		pod.Status.Phase = corev1.PodPending
	case "failed":
		pod.Status.Phase = corev1.PodFailed
	case "deleted":
		pod.DeletionTimestamp = new(before(1))
	case "never ready":
		ready.Status = corev1.ConditionFalse
	case "unready":
		ready.Status, ready.LastTransitionTime = corev1.ConditionFalse, before(60)
	case "started":
		pod.Status.StartTime, ready.LastTransitionTime = new(before(60)), before(10)
	}
	pod.Status.Conditions = []corev1.PodCondition{ready}
	return pod
}

func TestByPods(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		// pods has a pod a word: its state, and after a colon its use of CPU if that is known. A space in a state is an
		// underscore.
		pods string
		want int32
		err  string
	}{
		{"at the target", "nothing is to be done", "ready:50 ready:50", 2, ""},
		{"within the tolerance", "the difference is too small", "ready:54 ready:55", 2, ""},
		{"above", "half of the target is missing", "ready:75 ready:75", 3, ""},
		{"below", "half of the pods are enough", "ready:25 ready:25 ready:25 ready:25", 2, ""},
		{"pending pod", "it counts as unused on the way up", "ready:100 pending", 2, ""},
		{"pending pod, far above", "the others need more pods than these", "ready:300 pending", 6, ""},
		{"pending pod, below", "it doesn't count on the way down", "ready:10 ready:10 pending", 1, ""},
		{"missing value, above", "the pod counts as unused", "ready:100 ready", 2, ""},
		{"missing value, below", "the pod counts as fully used", "ready:10 ready:10 ready", 3, ""},
		{"deleted pod", "it doesn't count", "ready:100 deleted:0", 2, ""},
		{"failed pod", "it doesn't count", "ready:100 failed:0", 2, ""},
		{"unready pod", "it was ready before, so its use counts", "ready:100 unready:100", 4, ""},
		{"pod that was never ready", "its use may be for its start", "ready:100 never_ready:1000", 2, ""},
		{"pod that has just started", "its use may be for its start", "ready:100 started:1000", 2, ""},
		{"no pods", "the number of pods is unknown", "", 0, "no pods returned by selector while calculating replica count"},
		{"no ready pods", "the use is unknown", "pending:50", 0, "did not receive metrics for targeted pods (pods might be unready)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			values := samples{}
			words := strings.Fields(test.pods)
			e := evaluationOf(int32(len(words)), nil)
			for i, word := range words {
				state, used, known := strings.Cut(strings.ReplaceAll(word, "_", " "), ":")
				pod := podOf(fmt.Sprint(i), state)
				e.pods = append(e.pods, pod)
				if known {
					values[pod.Name] = sample{value: new(resource.MustParse(used + "m")).MilliValue(), at: start, window: 30 * time.Second}
				}
			}
			by, err := byUtilization(e.pods, 50, corev1.ResourceCPU, "")
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := e.byPods(values, corev1.ResourceCPU, by)
			if err == nil && test.err != "" || err != nil && err.Error() != test.err || got != test.want {
				t.Errorf("%s: want %d replicas and the error %q, got %d, %v", test.reason, test.want, test.err, got, err)
			}
		})
	}
}

func TestByTotal(t *testing.T) {
	t.Parallel()
	value := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: new(resource.MustParse("10"))}
	average := autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: new(resource.MustParse("10"))}
	for _, test := range []struct {
		name, reason string
		target       autoscalingv2.MetricTarget
		replicas     int32
		value        string
		want         int32
		status       string
	}{
		{"value", "twice the target needs twice the pods", value, 2, "20", 4, "20"},
		{"value within the tolerance", "the difference is too small", value, 2, "10500m", 2, "10500m"},
		{"value, no pods", "the target is scaled from zero", value, 0, "21", 3, "21"},
		{"average", "each pod has its share", average, 2, "31", 4, "15500m"},
		{"average within the tolerance", "the difference is too small", average, 3, "31", 3, "10334m"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := evaluationOf(test.replicas, nil)
			for i := range test.replicas {
				e.pods = append(e.pods, podOf(fmt.Sprint(i), "ready"))
			}
			var status autoscalingv2.MetricValueStatus
			got, err := e.byTotal(new(resource.MustParse(test.value)).MilliValue(), test.target, &status)
			shown := status.Value
			if shown == nil {
				shown = status.AverageValue
			}
			if err != nil || got != test.want || shown.String() != test.status {
				t.Errorf("%s: want %d replicas and the value %s, got %d and %s, %v", test.reason, test.want, test.status, got, shown, err)
			}
		})
	}
}

func TestRequestOf(t *testing.T) {
	t.Parallel()
	pod := podOf("p", "ready")
	pod.Spec.InitContainers = []corev1.Container{{Name: "sidecar", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m")}}}, {Name: "init"}}
	whole := pod.DeepCopy()
	whole.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}}
	for _, test := range []struct {
		name, reason string
		pod          *corev1.Pod
		resource     corev1.ResourceName
		container    string
		want         int64
		err          string
	}{
		{"pod", "sidecars count, and init containers don't", pod, corev1.ResourceCPU, "", 120, ""},
		{"container", "one container counts", pod, corev1.ResourceCPU, "sidecar", 20, ""},
		{"request of the pod", "the pod's request counts for all containers", whole, corev1.ResourceCPU, "", 500, ""},
		{"container of a pod with a request", "the container's request counts", whole, corev1.ResourceCPU, "c", 100, ""},
		{"no request", "the container requests no memory", pod, corev1.ResourceMemory, "", 0, "missing request for memory in container c of Pod p"},
		{"no request of the pod", "the pod requests no memory", whole, corev1.ResourceMemory, "", 0, "missing pod-level request for memory in Pod p"},
		{"no container", "the pod has no such container", pod, corev1.ResourceCPU, "other", 0, "container other not found in Pod p"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := requestOf(test.pod, test.resource, test.container)
			if err == nil && test.err != "" || err != nil && err.Error() != test.err || got != test.want {
				t.Errorf("%s: want %d and the error %q, got %d, %v", test.reason, test.want, test.err, got, err)
			}
		})
	}
}
