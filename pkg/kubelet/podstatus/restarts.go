package podstatus

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Restarts reports whether a container of a pod starts again after it has ended with an exit code. Its own rules count
// first, then its own policy, and then the policy of the pod.
func Restarts(pod *corev1.Pod, c *corev1.Container, code int32) bool {
	policy := corev1.ContainerRestartPolicy(pod.Spec.RestartPolicy)
	if c.RestartPolicy != nil {
		policy = *c.RestartPolicy
		if slices.ContainsFunc(c.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool { return concerns(r, code) }) {
			return true // each action restarts the container
		}
	}
	switch policy {
	case corev1.ContainerRestartPolicyNever:
		return false
	case corev1.ContainerRestartPolicyOnFailure:
		return code != 0
	}
	return true
}

// concerns reports whether a rule is about an exit code.
func concerns(r corev1.ContainerRestartRule, code int32) bool {
	if r.ExitCodes == nil {
		return false
	}
	listed := slices.Contains(r.ExitCodes.Values, code)
	return listed && r.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn ||
		!listed && r.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpNotIn
}
