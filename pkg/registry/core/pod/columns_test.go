package pod

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// aMonthAgo is shown as "30d", however long a test takes.
func aMonthAgo() metav1.Time { return metav1.NewTime(time.Now().Add(-30 * 24 * time.Hour)) }

func running(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, Ready: true, Started: ptr.To(true),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}
}

func waiting(name, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
	}
}

func terminated(name string, how corev1.ContainerStateTerminated) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &how}}
}

func restarted(c corev1.ContainerStatus, count int32) corev1.ContainerStatus {
	c.RestartCount = count
	c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: aMonthAgo()}
	return c
}

func condition(t corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodCondition {
	return corev1.PodCondition{Type: t, Status: status}
}

func TestPodStatus(t *testing.T) {
	t.Parallel()
	always := ptr.To(corev1.ContainerRestartPolicyAlways)
	deleted := ptr.To(aMonthAgo())
	for _, test := range []struct {
		name, reason string
		meta         metav1.ObjectMeta
		init         []corev1.Container
		status       corev1.PodStatus
		// want are the columns Ready, Status and Restarts.
		want []any
	}{
		{
			name:   "pending",
			reason: "without container statuses, the phase is the status",
			status: corev1.PodStatus{Phase: corev1.PodPending},
			want:   []any{"0/2", "Pending", "0"},
		},
		{
			name:   "evicted",
			reason: "the pod's own reason says more than its phase",
			status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"},
			want:   []any{"0/2", "Evicted", "0"},
		},
		{
			name:   "gated",
			reason: "a gated pod is pending, and never scheduled by waiting",
			status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated},
			}},
			want: []any{"0/2", "SchedulingGated", "0"},
		},
		{
			name:   "running",
			reason: "restarts are summed, and their age is that of the last one",
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				restarted(running("a"), 2), restarted(running("b"), 3),
			}},
			want: []any{"2/2", "Running", "5 (30d ago)"},
		},
		{
			name:   "crash loop",
			reason: "the first container that is not running determines the status",
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				waiting("a", "CrashLoopBackOff"), terminated("b", corev1.ContainerStateTerminated{ExitCode: 1}),
			}},
			want: []any{"0/2", "CrashLoopBackOff", "0"},
		},
		{
			name:   "killed",
			reason: "a signal says more than the exit code it comes with",
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				terminated("a", corev1.ContainerStateTerminated{ExitCode: 137, Signal: 9}),
			}},
			want: []any{"0/2", "Signal:9", "0"},
		},
		{
			name:   "partly completed and ready",
			reason: "a container that completed doesn't end the pod",
			status: corev1.PodStatus{
				Phase:      corev1.PodRunning,
				Conditions: []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionTrue)},
				ContainerStatuses: []corev1.ContainerStatus{
					terminated("a", corev1.ContainerStateTerminated{Reason: "Completed"}), running("b"),
				},
			},
			want: []any{"1/2", "Running", "0"},
		},
		{
			name:   "partly completed",
			reason: "without the Ready condition, the pod takes no traffic",
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				terminated("a", corev1.ContainerStateTerminated{Reason: "Completed"}), running("b"),
			}},
			want: []any{"1/2", "NotReady", "0"},
		},
		{
			name:   "initializing",
			reason: "it counts the init containers that are done, and shows their restarts",
			init:   []corev1.Container{{Name: "i"}, {Name: "j"}},
			status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{
				restarted(terminated("i", corev1.ContainerStateTerminated{}), 1), waiting("j", "PodInitializing"),
			}},
			want: []any{"0/2", "Init:1/2", "1 (30d ago)"},
		},
		{
			name:   "init container failed",
			reason: "its outcome is the pod's",
			init:   []corev1.Container{{Name: "i"}},
			status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{
				terminated("i", corev1.ContainerStateTerminated{ExitCode: 3}),
			}},
			want: []any{"0/2", "Init:ExitCode:3", "0"},
		},
		{
			name:   "initialized",
			reason: "restarts of init containers don't count any more",
			init:   []corev1.Container{{Name: "i"}},
			status: corev1.PodStatus{
				Phase:                 corev1.PodRunning,
				InitContainerStatuses: []corev1.ContainerStatus{restarted(terminated("i", corev1.ContainerStateTerminated{}), 4)},
				ContainerStatuses:     []corev1.ContainerStatus{running("a"), running("b")},
			},
			want: []any{"2/2", "Running", "0"},
		},
		{
			name:   "sidecar",
			reason: "an init container that keeps running counts like a container",
			init:   []corev1.Container{{Name: "s", RestartPolicy: always}},
			status: corev1.PodStatus{
				Phase:                 corev1.PodRunning,
				InitContainerStatuses: []corev1.ContainerStatus{restarted(running("s"), 1)},
				ContainerStatuses:     []corev1.ContainerStatus{running("a"), running("b")},
			},
			want: []any{"3/3", "Running", "1 (30d ago)"},
		},
		{
			name:   "sidecar failing later",
			reason: "the containers are counted, and the sidecar determines the status",
			init:   []corev1.Container{{Name: "s", RestartPolicy: always}},
			status: corev1.PodStatus{
				Phase:                 corev1.PodRunning,
				Conditions:            []corev1.PodCondition{condition(corev1.PodInitialized, corev1.ConditionTrue)},
				InitContainerStatuses: []corev1.ContainerStatus{waiting("s", "CrashLoopBackOff")},
				ContainerStatuses:     []corev1.ContainerStatus{running("a"), running("b")},
			},
			want: []any{"2/3", "Init:CrashLoopBackOff", "0"},
		},
		{
			name:   "terminating",
			reason: "deletion hides what the containers do",
			meta:   metav1.ObjectMeta{DeletionTimestamp: deleted},
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{running("a")}},
			want:   []any{"1/2", "Terminating", "0"},
		},
		{
			name:   "deleted after it ended",
			reason: "there is nothing left to terminate",
			meta:   metav1.ObjectMeta{DeletionTimestamp: deleted},
			status: corev1.PodStatus{Phase: corev1.PodSucceeded},
			want:   []any{"0/2", "Succeeded", "0"},
		},
		{
			name:   "lost",
			reason: "the state of pods on an unreachable node is unknown",
			meta:   metav1.ObjectMeta{DeletionTimestamp: deleted},
			status: corev1.PodStatus{Phase: corev1.PodRunning, Reason: "NodeLost"},
			want:   []any{"0/2", "Unknown", "0"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{
				ObjectMeta: test.meta,
				Spec:       corev1.PodSpec{InitContainers: test.init, Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}},
				Status:     test.status,
			}
			if diff := cmp.Diff(test.want, podColumns.Cells(pod)[1:4]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestPodPlacement(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: corev1.PodSpec{
			NodeName:       "n",
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "open"}, {ConditionType: "shut"}, {ConditionType: "none"}},
		},
		Status: corev1.PodStatus{
			PodIPs: []corev1.PodIP{{IP: "10.1.2.3"}, {IP: "fd00::1"}},
			Conditions: []corev1.PodCondition{
				condition("open", corev1.ConditionTrue), condition("shut", corev1.ConditionFalse),
			},
		},
	}
	want := []any{"<unknown>", "10.1.2.3", "n", "<none>", "1/3"}
	if diff := cmp.Diff(want, podColumns.Cells(pod)[4:]); diff != "" {
		t.Errorf("age and wide cells of a placed pod (-want +got):\n%s", diff)
	}
}
