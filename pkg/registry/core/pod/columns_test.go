package pod

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// aMonthAgo is shown as "30d", even if the test takes minutes.
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
		// want are the cells of the columns Ready, Status and Restarts.
		want []any
	}{
		{
			name:   "pending",
			reason: "a pod without container statuses shows its phase",
			status: corev1.PodStatus{Phase: corev1.PodPending},
			want:   []any{"0/2", "Pending", "0"},
		},
		{
			name:   "evicted",
			reason: "status.reason takes precedence over the phase",
			status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"},
			want:   []any{"0/2", "Evicted", "0"},
		},
		{
			name:   "gated",
			reason: "a pod with scheduling gates shows the gates and not Pending, since the scheduler skips the pod",
			status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated},
			}},
			want: []any{"0/2", "SchedulingGated", "0"},
		},
		{
			name:   "running",
			reason: "the column shows the sum of all restarts and the age of the latest restart",
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
			reason: "the signal takes precedence over the exit code",
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				terminated("a", corev1.ContainerStateTerminated{ExitCode: 137, Signal: 9}),
			}},
			want: []any{"0/2", "Signal:9", "0"},
		},
		{
			name:   "partly completed and ready",
			reason: "a pod goes on running after one of its containers has completed",
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
			reason: "a pod without the Ready condition receives no traffic",
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				terminated("a", corev1.ContainerStateTerminated{Reason: "Completed"}), running("b"),
			}},
			want: []any{"1/2", "NotReady", "0"},
		},
		{
			name:   "initializing",
			reason: "the status counts the completed init containers, and the column shows their restarts",
			init:   []corev1.Container{{Name: "i"}, {Name: "j"}},
			status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{
				restarted(terminated("i", corev1.ContainerStateTerminated{}), 1), waiting("j", "PodInitializing"),
			}},
			want: []any{"0/2", "Init:1/2", "1 (30d ago)"},
		},
		{
			name:   "init container failed",
			reason: "the status shows the exit code of the init container",
			init:   []corev1.Container{{Name: "i"}},
			status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{
				terminated("i", corev1.ContainerStateTerminated{ExitCode: 3}),
			}},
			want: []any{"0/2", "Init:ExitCode:3", "0"},
		},
		{
			name:   "initialized",
			reason: "a pod that has initialized shows only the restarts of its containers",
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
			reason: "a sidecar counts as a container",
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
			reason: "Ready counts the running containers, and the failing sidecar determines the status",
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
			reason: "the deletion takes precedence over the state of the containers",
			meta:   metav1.ObjectMeta{DeletionTimestamp: deleted},
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{running("a")}},
			want:   []any{"1/2", "Terminating", "0"},
		},
		{
			name:   "deleted after it ended",
			reason: "a deleted pod that has ended shows its phase",
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

func TestPodRowConditions(t *testing.T) {
	t.Parallel()
	for phase, want := range map[corev1.PodPhase]string{
		corev1.PodRunning:   "",
		corev1.PodSucceeded: "The pod has completed successfully.",
		corev1.PodFailed:    "The pod failed.",
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
		table, err := printers.TableConvertor(podColumns).ConvertToTable(context.Background(), pod, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range table.Rows[0].Conditions {
			if c.Type != metav1.RowCompleted || c.Status != metav1.ConditionTrue || c.Reason != string(phase) {
				t.Errorf("%s: condition %+v, want Completed with the phase as its reason", phase, c)
			}
			got = c.Message
		}
		if got != want {
			t.Errorf("%s: message %q, want %q", phase, got, want)
		}
	}
}
