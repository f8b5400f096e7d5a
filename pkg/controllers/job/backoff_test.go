package job

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// start is the time at which the tests begin.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// after returns a time that is some seconds after start.
func after(seconds int) metav1.Time {
	return metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
}

// endedAt returns pods whose containers have ended at some seconds after start.
func endedAt(seconds ...int) (pods []*corev1.Pod) {
	for _, s := range seconds {
		pods = append(pods, &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("c", 1, s)}}})
	}
	return pods
}

func terminated(name string, code int32, second int) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: after(second)}}}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	before := backoff{failures: 2, last: start}
	for _, test := range []struct {
		name, reason      string
		succeeded, failed []*corev1.Pod
		failures          int
		left              time.Duration // at 100 seconds after start
	}{
		{"none", "nothing has changed", nil, nil, 2, 0},
		{"failed", "the delay of the third failure counts from the last end", nil, endedAt(90), 3, 30 * time.Second},
		{"several", "each failure doubles the delay", nil, endedAt(99, 90), 4, 79 * time.Second},
		{"many", "the delay is 10 minutes at most", nil, endedAt(91, 92, 93, 94, 95, 96, 97, 98), 10, 598 * time.Second},
		{"succeeded", "a success ends the delays", endedAt(95), nil, 0, 0},
		{"succeeded last", "earlier failures don't count", endedAt(95), endedAt(90), 0, 0},
		{"succeeded before", "later failures count", endedAt(85), endedAt(80, 95), 1, 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := before.after(test.succeeded, test.failed)
			if left := b.left(after(100).Time); b.failures != test.failures || left != test.left {
				t.Errorf("%s: want %d failures and a delay of %s, got %d and %s", test.reason, test.failures, test.left, b.failures, left)
			}
		})
	}
}

func TestEndOf(t *testing.T) {
	t.Parallel()
	created := metav1.ObjectMeta{CreationTimestamp: after(1)}
	for _, test := range []struct {
		name, reason string
		pod          corev1.Pod
		want         int
	}{
		{"containers", "the last container counts", corev1.Pod{ObjectMeta: created, Status: corev1.PodStatus{
			ContainerStatuses: []corev1.ContainerStatus{terminated("a", 0, 5), terminated("b", 1, 4)}}}, 5},
		{"sidecar", "a sidecar ends after the containers", corev1.Pod{ObjectMeta: created,
			Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "s", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}, {Name: "i"}}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("a", 0, 5)},
				InitContainerStatuses: []corev1.ContainerStatus{terminated("s", 0, 6), terminated("i", 0, 7)}}}, 6},
		{"not ready", "a container has no end", corev1.Pod{ObjectMeta: created, Status: corev1.PodStatus{
			ContainerStatuses: []corev1.ContainerStatus{terminated("a", 0, 5), {Name: "b"}},
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: after(8)}}}}, 8},
		{"deleted", "the deletion began before the grace period", corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			CreationTimestamp: after(1), DeletionTimestamp: new(after(40)), DeletionGracePeriodSeconds: new(int64(30))}}, 10},
		{"unknown", "only the creation is known", corev1.Pod{ObjectMeta: created}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := endOf(&test.pod); !got.Equal(after(test.want).Time) {
				t.Errorf("%s: want %s, got %s", test.reason, after(test.want), got)
			}
		})
	}
}
