package job

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFailureAction(t *testing.T) {
	t.Parallel()
	exit := func(operator batchv1.PodFailurePolicyOnExitCodesOperator, container *string, codes ...int32) *batchv1.PodFailurePolicyOnExitCodesRequirement {
		return &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: operator, ContainerName: container, Values: codes}
	}
	policy := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: exit(batchv1.PodFailurePolicyOnExitCodesOpIn, new("main"), 40, 42)},
		{Action: batchv1.PodFailurePolicyActionFailIndex, OnExitCodes: exit(batchv1.PodFailurePolicyOnExitCodesOpIn, nil, 43)},
		{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
		{Action: batchv1.PodFailurePolicyActionFailJob, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: "Broken", Status: corev1.ConditionTrue}}},
		{Action: batchv1.PodFailurePolicyActionIgnore, OnExitCodes: exit(batchv1.PodFailurePolicyOnExitCodesOpNotIn, new("main"), 1, 2)},
	}}
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: kind, Status: status}}
	}
	for _, test := range []struct {
		name, reason string
		status       corev1.PodStatus
		want         batchv1.PodFailurePolicyAction
		message      string
	}{
		{"exit code", "the code fails the Job", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("main", 42, 0)}},
			batchv1.PodFailurePolicyActionFailJob, "Container main for pod ns/p failed with exit code 42 matching FailJob rule at index 0"},
		{"other container", "the rule names a container", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("other", 42, 0)}},
			batchv1.PodFailurePolicyActionCount, ""},
		{"init container", "a rule without a container matches init containers, too", corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{terminated("init", 43, 0)}},
			batchv1.PodFailurePolicyActionFailIndex, ""},
		{"condition", "the pod was disrupted", corev1.PodStatus{Conditions: condition(corev1.DisruptionTarget, corev1.ConditionTrue)},
			batchv1.PodFailurePolicyActionIgnore, ""},
		{"condition is false", "the pod wasn't disrupted", corev1.PodStatus{Conditions: condition(corev1.DisruptionTarget, corev1.ConditionFalse)},
			batchv1.PodFailurePolicyActionCount, ""},
		{"condition that fails the Job", "the message has the condition", corev1.PodStatus{Conditions: condition("Broken", corev1.ConditionTrue)},
			batchv1.PodFailurePolicyActionFailJob, "Pod ns/p has condition Broken matching FailJob rule at index 3"},
		{"first rule", "the first rule that matches decides", corev1.PodStatus{
			ContainerStatuses: []corev1.ContainerStatus{terminated("main", 40, 0)}, Conditions: condition(corev1.DisruptionTarget, corev1.ConditionTrue)},
			batchv1.PodFailurePolicyActionFailJob, "Container main for pod ns/p failed with exit code 40 matching FailJob rule at index 0"},
		{"not in", "the code is none of the values", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("main", 3, 0)}},
			batchv1.PodFailurePolicyActionIgnore, ""},
		{"in", "the code is one of the values", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("main", 2, 0)}},
			batchv1.PodFailurePolicyActionCount, ""},
		{"success", "a container that has succeeded matches no rule", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("main", 0, 0)}},
			batchv1.PodFailurePolicyActionCount, ""},
		{"running", "the container has no exit code", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main"}}},
			batchv1.PodFailurePolicyActionCount, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			action, message := failureAction(policy, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Status: test.status})
			if action != test.want || action == batchv1.PodFailurePolicyActionFailJob && message != test.message {
				t.Errorf("%s: want %s %q, got %s %q", test.reason, test.want, test.message, action, message)
			}
		})
	}
}

func TestSuccessRule(t *testing.T) {
	t.Parallel()
	policy := &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{
		{SucceededIndexes: new("0,7-9")},
		{SucceededIndexes: new("1-4"), SucceededCount: new(int32(2))},
		{SucceededCount: new(int32(5))},
	}}
	for _, test := range []struct {
		name, reason, succeeded string
		want                    int
	}{
		{"none", "no index has succeeded", "", -1},
		{"some", "no rule is met", "0,1,6,7", -1},
		{"all of a rule", "all indexes of the rule have succeeded", "0,7-9", 0},
		{"enough of a rule", "two indexes of the rule are enough", "1,4,9", 1},
		{"enough", "any five indexes are enough", "0,1,5-7", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := successRule(policy, parseIndexes(test.succeeded, 10), 10); got != test.want {
				t.Errorf("%s: want rule %d, got %d", test.reason, test.want, got)
			}
		})
	}
}
