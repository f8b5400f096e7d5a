package podstatus_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/podstatus"
)

var addresses = podstatus.Addresses{Pod: []string{"10.0.0.2"}, Host: []string{"198.18.0.1"}}

// newPod returns a pod with an init container, a sidecar and a container.
func newPod(policy corev1.RestartPolicy) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 3},
		Spec: corev1.PodSpec{
			RestartPolicy:  policy,
			InitContainers: []corev1.Container{{Name: "init"}, {Name: "side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}},
			Containers:     []corev1.Container{{Name: "main", Image: "a"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

// enter moves a pod through states.
func enter(pod *corev1.Pod, states ...podstatus.State) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, state := range states {
		pod.Status = podstatus.Of(pod, state, addresses, at.Add(time.Duration(i)*time.Minute))
	}
}

// summary has the phase, and the state of each container with its restarts. Ready containers have an exclamation mark.
func summary(status corev1.PodStatus) string {
	text := string(status.Phase)
	for _, all := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses} {
		for _, c := range all {
			state := "running"
			switch {
			case c.State.Waiting != nil:
				state = c.State.Waiting.Reason
			case c.State.Terminated != nil:
				state = fmt.Sprint(c.State.Terminated.ExitCode)
			}
			text += fmt.Sprintf(" %s:%s/%d", c.Name, state, c.RestartCount)
			if c.Ready {
				text += "!"
			}
		}
	}
	return text
}

func TestPhaseAndContainers(t *testing.T) {
	t.Parallel()
	const always, onFailure, never = corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever
	for _, test := range []struct {
		name, reason string
		policy       corev1.RestartPolicy
		deleted      bool
		states       []podstatus.State
		want         string
	}{
		{"creating", "containers wait for init containers", always, false, []podstatus.State{podstatus.Creating},
			"Pending init:PodInitializing/0 side:PodInitializing/0 main:PodInitializing/0"},
		{"running", "the sidecar runs, too", always, false, []podstatus.State{podstatus.Running},
			"Running init:0/0! side:running/0! main:running/0!"},
		{"unready", "the sidecar has no probe", always, false, []podstatus.State{podstatus.Unready},
			"Running init:0/0! side:running/0! main:running/0"},
		{"completed", "a sidecar ends with the pod", never, false, []podstatus.State{podstatus.Running, podstatus.Succeeded},
			"Succeeded init:0/0! side:0/0 main:0/0"},
		{"completed, always", "the container starts again", always, false, []podstatus.State{podstatus.Running, podstatus.Succeeded},
			"Running init:0/0! side:running/0! main:0/0"},
		{"crashed, never", "no restart is left", never, false, []podstatus.State{podstatus.Running, podstatus.Crashed},
			"Failed init:0/0! side:0/0 main:1/0"},
		{"crashed, on failure", "the container starts again", onFailure, false, []podstatus.State{podstatus.Running, podstatus.Crashed},
			"Running init:0/0! side:running/0! main:1/0"},
		{"crash loop", "each start counts", always, false,
			[]podstatus.State{podstatus.Running, podstatus.Crashed, podstatus.Running, podstatus.Crashed, podstatus.CrashLoopBackOff},
			"Running init:0/0! side:running/0! main:CrashLoopBackOff/1"},
		{"image", "a container that never ran makes the pod pending", always, false, []podstatus.State{podstatus.ErrImagePull},
			"Pending init:0/0! side:running/0! main:ErrImagePull/0"},
		{"evicted", "no restart policy restarts the pod", always, false, []podstatus.State{podstatus.Running, podstatus.Evicted},
			"Failed init:0/0! side:0/0 main:137/0"},
		{"deleted", "a deleted pod isn't restarted", always, true, []podstatus.State{podstatus.Running, podstatus.Terminated},
			"Failed init:0/0! side:0/0 main:143/0"},
		{"deleted after its end", "the end of a container doesn't change", never, true, []podstatus.State{podstatus.Running, podstatus.Succeeded, podstatus.Terminated},
			"Succeeded init:0/0! side:0/0 main:0/0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := newPod(test.policy)
			if test.deleted {
				pod.DeletionTimestamp = new(metav1.Now())
			}
			enter(pod, test.states...)
			if got := summary(pod.Status); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.reason, got, test.want)
			}
		})
	}
}

func TestRestarts(t *testing.T) {
	t.Parallel()
	const in, notIn = corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn
	rule := func(operator corev1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) []corev1.ContainerRestartRule {
		return []corev1.ContainerRestartRule{{
			Action: corev1.ContainerRestartRuleActionRestart, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: codes},
		}}
	}
	never, onFailure := new(corev1.ContainerRestartPolicyNever), new(corev1.ContainerRestartPolicyOnFailure)
	for _, test := range []struct {
		name, reason string
		pod          corev1.RestartPolicy
		own          *corev1.ContainerRestartPolicy
		rules        []corev1.ContainerRestartRule
		code         int32
		want         string // the phase of the pod
	}{
		{"pod", "the pod's policy counts", corev1.RestartPolicyAlways, nil, nil, 0, "Running"},
		{"own policy", "it counts before that of the pod", corev1.RestartPolicyAlways, never, nil, 1, "Failed"},
		{"own policy, success", "nothing is left to do", corev1.RestartPolicyAlways, onFailure, nil, 0, "Succeeded"},
		{"rule", "the exit code is listed", corev1.RestartPolicyNever, never, rule(in, 42), 42, "Running"},
		{"other code", "the exit code isn't listed", corev1.RestartPolicyNever, never, rule(in, 42), 1, "Failed"},
		{"rule for others", "the exit code isn't listed", corev1.RestartPolicyNever, never, rule(notIn, 42), 1, "Running"},
		{"listed for others", "the exit code is listed", corev1.RestartPolicyNever, never, rule(notIn, 42), 42, "Failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{
				Spec: corev1.PodSpec{RestartPolicy: test.pod, Containers: []corev1.Container{{Name: "main", RestartPolicy: test.own, RestartPolicyRules: test.rules}}},
				Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
					Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: test.code}},
				}}},
			}
			podstatus.Complete(pod, &pod.Status, true, false, addresses, time.Now())
			if string(pod.Status.Phase) != test.want || podstatus.Restarts(pod, &pod.Spec.Containers[0], test.code) != (test.want == "Running") {
				t.Errorf("%s: want the pod %s, got %s", test.reason, test.want, pod.Status.Phase)
			}
		})
	}
}

// A pod that is in a state already keeps its status, so that nothing is written.
func TestSameState(t *testing.T) {
	t.Parallel()
	for _, state := range podstatus.States() {
		pod := newPod(corev1.RestartPolicyNever)
		enter(pod, state)
		before := pod.DeepCopy()
		enter(pod, state, state) // a minute later, too
		if diff := cmp.Diff(before.Status, pod.Status); diff != "" {
			t.Errorf("%s: the status changes: %s", state, diff)
		}
	}
}

// An ephemeral container starts in a pod that runs.
func TestEphemeralContainer(t *testing.T) {
	t.Parallel()
	pod := newPod(corev1.RestartPolicyAlways)
	enter(pod, podstatus.Running)
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}}}
	enter(pod, podstatus.Running)
	if got := summary(pod.Status); !strings.HasSuffix(got, " debug:running/0") {
		t.Errorf("want the ephemeral container to run, got %s", got)
	}
}

// A container with another image starts again.
func TestImage(t *testing.T) {
	t.Parallel()
	pod := newPod(corev1.RestartPolicyAlways)
	enter(pod, podstatus.Running)
	was := pod.Status.ContainerStatuses[0].ContainerID
	pod.Spec.Containers[0].Image = "b"
	enter(pod, podstatus.Running)
	if got := pod.Status.ContainerStatuses[0]; got.Image != "b" || got.RestartCount != 1 || got.ContainerID == was || got.LastTerminationState.Terminated == nil {
		t.Errorf("want another container with image b, got %+v", got)
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	gates := []corev1.PodReadinessGate{{ConditionType: "example.com/a"}, {ConditionType: "example.com/b"}}
	for _, test := range []struct {
		name, reason string
		gates        []corev1.PodReadinessGate
		state        podstatus.State
		want         []string
	}{
		{"creating", "the kubelet lists what is missing", nil, podstatus.Creating, []string{
			"PodReadyToStartContainers=False",
			"Initialized=False ContainersNotInitialized: containers with incomplete status: [init side]",
			"Ready=False ContainersNotReady: containers with unready status: [side main]",
			"ContainersReady=False ContainersNotReady: containers with unready status: [side main]",
			"PodScheduled=True",
		}},
		{"running", "nothing is missing", nil, podstatus.Running,
			[]string{"PodReadyToStartContainers=True", "Initialized=True", "Ready=True", "ContainersReady=True", "PodScheduled=True"}},
		{"gates", "other controllers set the conditions of readiness gates", gates, podstatus.Running, []string{
			"PodReadyToStartContainers=True", "Initialized=True",
			`Ready=False ReadinessGatesNotReady: corresponding condition of pod readiness gate "example.com/a" does not exist., ` +
				`the status of pod readiness gate "example.com/b" is not "True", but False`,
			"ContainersReady=True", "PodScheduled=True", "example.com/b=False",
		}},
		{"succeeded", "a pod that has ended isn't ready", nil, podstatus.Succeeded, []string{
			"PodReadyToStartContainers=False", "Initialized=True PodCompleted", "Ready=False PodCompleted", "ContainersReady=False PodCompleted", "PodScheduled=True",
		}},
		{"failed", "a pod that has failed isn't ready", nil, podstatus.Failed, []string{
			"PodReadyToStartContainers=False", "Initialized=True", "Ready=False PodFailed", "ContainersReady=False PodFailed", "PodScheduled=True",
		}},
		{"evicted", "the kubelet says that it has ended the pod", nil, podstatus.Evicted, []string{
			"DisruptionTarget=True TerminationByKubelet: The node was low on resource: memory.",
			"PodReadyToStartContainers=False", "Initialized=True", "Ready=False PodFailed", "ContainersReady=False PodFailed", "PodScheduled=True",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := newPod(corev1.RestartPolicyNever)
			pod.Spec.ReadinessGates = test.gates
			if test.gates != nil {
				pod.Status.Conditions = []corev1.PodCondition{{Type: "example.com/b", Status: corev1.ConditionFalse}}
			}
			enter(pod, test.state)
			var got []string
			for _, c := range pod.Status.Conditions {
				text := fmt.Sprintf("%s=%s", c.Type, c.Status)
				if c.Reason != "" {
					text += " " + c.Reason
				}
				if c.Message != "" {
					text += ": " + c.Message
				}
				got = append(got, text)
				if c.ObservedGeneration != 3 && c.Type != "example.com/b" {
					t.Errorf("%s: want the generation 3 to be observed, got %d", c.Type, c.ObservedGeneration)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
		})
	}
}
