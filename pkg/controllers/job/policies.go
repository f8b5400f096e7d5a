package job

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// failureAction returns the action of the first rule that matches a failed pod, or Count if no rule matches. For the
// action FailJob, it also returns the message of the Job's condition.
func failureAction(policy *batchv1.PodFailurePolicy, pod *corev1.Pod) (action batchv1.PodFailurePolicyAction, message string) {
	if policy == nil {
		return batchv1.PodFailurePolicyActionCount, ""
	}
	for i, rule := range policy.Rules {
		switch {
		case rule.OnExitCodes != nil:
			if status := failedContainer(pod, rule.OnExitCodes); status != nil {
				return rule.Action, fmt.Sprintf("Container %s for pod %s/%s failed with exit code %v matching %v rule at index %d",
					status.Name, pod.Namespace, pod.Name, status.State.Terminated.ExitCode, rule.Action, i)
			}
		default:
			if condition := matchingCondition(pod, rule.OnPodConditions); condition != nil {
				return rule.Action, fmt.Sprintf("Pod %s/%s has condition %v matching %v rule at index %d", pod.Namespace, pod.Name, condition.Type, rule.Action, i)
			}
		}
	}
	return batchv1.PodFailurePolicyActionCount, ""
}

// failedContainer returns the status of the first container of a pod whose exit code a rule matches, or nil. The exit
// code 0 never matches.
func failedContainer(pod *corev1.Pod, rule *batchv1.PodFailurePolicyOnExitCodesRequirement) *corev1.ContainerStatus {
	for _, status := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		if status.State.Terminated == nil || rule.ContainerName != nil && *rule.ContainerName != status.Name {
			continue
		}
		code := status.State.Terminated.ExitCode
		if code != 0 && slices.Contains(rule.Values, code) == (rule.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
			return &status
		}
	}
	return nil
}

func matchingCondition(pod *corev1.Pod, patterns []batchv1.PodFailurePolicyOnPodConditionsPattern) *corev1.PodCondition {
	for _, condition := range pod.Status.Conditions {
		if slices.Contains(patterns, batchv1.PodFailurePolicyOnPodConditionsPattern{Type: condition.Type, Status: condition.Status}) {
			return &condition
		}
	}
	return nil
}

// successRule returns the number of the first rule that the succeeded indexes meet, or -1.
func successRule(policy *batchv1.SuccessPolicy, succeeded indexes, completions int) int {
	if policy == nil || len(succeeded) == 0 {
		return -1
	}
	return slices.IndexFunc(policy.Rules, func(rule batchv1.SuccessPolicyRule) bool {
		if rule.SucceededIndexes == nil {
			return rule.SucceededCount != nil && succeeded.len() >= int(*rule.SucceededCount)
		}
		required := parseIndexes(*rule.SucceededIndexes, completions)
		if len(required) == 0 {
			return false
		}
		common := required.common(succeeded)
		return common == required.len() || rule.SucceededCount != nil && common >= int(*rule.SucceededCount)
	})
}
