package incluster

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The error about a Deployment that isn't ready repeats the message in the cluster's status.
func TestState(t *testing.T) {
	t.Parallel()
	pod := func(status corev1.PodStatus) []corev1.Pod {
		return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "webhooks-x"}, Spec: corev1.PodSpec{NodeName: "n"}, Status: status}}
	}
	waiting := func(reason, message string) []corev1.Pod {
		return pod(corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}})
	}
	condition := func(kind appsv1.DeploymentConditionType, is corev1.ConditionStatus, reason, message string) appsv1.DeploymentStatus {
		return appsv1.DeploymentStatus{ObservedGeneration: 1, Conditions: []appsv1.DeploymentCondition{{Type: kind, Status: is, Reason: reason, Message: message}}}
	}
	for _, test := range []struct {
		name, reason string
		status       appsv1.DeploymentStatus
		pods         []corev1.Pod
		want         string
		hopeless     bool
	}{
		{"ready", "a Deployment with a ready replica is ready", appsv1.DeploymentStatus{ReadyReplicas: 1},
			waiting("ErrImagePull", "no"), "", false},
		{"no controller", "a server may have no Deployment controller", appsv1.DeploymentStatus{}, nil,
			"Deployment conformance-webhooks has no pod: no controller has observed the Deployment", false},
		{"soon", "the controller is about to create the pod", appsv1.DeploymentStatus{ObservedGeneration: 1}, nil,
			"Deployment conformance-webhooks has no pod yet", false},
		{"quota", "admission refuses the pod", condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "exceeded quota: pods"), nil,
			"Deployment conformance-webhooks has no pod: FailedCreate: exceeded quota: pods", false},
		{"progress", "the error repeats the message of a false condition", condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ReplicaSetCreateError", "no"), nil,
			"Deployment conformance-webhooks has no pod: ReplicaSetCreateError: no", false},
		{"usual progress", "a condition that is true is no problem", condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetCreated", "fine"), nil,
			"Deployment conformance-webhooks has no pod yet", false},
		{"image", "a pull may succeed at the next try", appsv1.DeploymentStatus{}, waiting("ImagePullBackOff", "back-off pulling image"),
			"pod webhooks-x doesn't start: ImagePullBackOff: back-off pulling image", false},
		{"image name", "an invalid name stays invalid at every try", appsv1.DeploymentStatus{}, waiting("InvalidImageName", "couldn't parse"),
			"pod webhooks-x doesn't start: InvalidImageName: couldn't parse", true},
		{"starting", "every container is created before it starts", appsv1.DeploymentStatus{},
			waiting("ContainerCreating", ""), "pod webhooks-x on node n is Pending, and not ready", false},
		{"ended", "the end of the last container says more than the back-off", appsv1.DeploymentStatus{}, pod(corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error", Message: "unknown command"}},
		}}}), "pod webhooks-x has ended with exit code 2: Error: unknown command", false},
		{"unschedulable", "the error repeats the scheduler's message", appsv1.DeploymentStatus{}, pod(corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"},
		}}), "pod webhooks-x has no node: Unschedulable: 0/3 nodes are available", false},
		{"evicted", "the error repeats the kubelet's message", appsv1.DeploymentStatus{}, pod(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}),
			"pod webhooks-x has failed: Evicted: low on memory", false},
		{"no scheduler", "no scheduler assigns a node to the pod", appsv1.DeploymentStatus{},
			[]corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "webhooks-x"}}}, "pod webhooks-x has no node yet", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := stateOf(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: test.status}, test.pods)
			if want := (state{test.want, test.hopeless}); got != want {
				t.Errorf("%s\n got %+v\nwant %+v", test.reason, got, want)
			}
		})
	}
}
