package job

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Finished returns the condition that says that a Job has ended, Complete or Failed. It returns nil for other Jobs.
func Finished(job *batchv1.Job) *batchv1.JobCondition {
	return trueCondition(job, batchv1.JobComplete, batchv1.JobFailed)
}

// trueCondition returns the first condition of a Job that is true and has one of the types, or nil.
func trueCondition(job *batchv1.Job, types ...batchv1.JobConditionType) *batchv1.JobCondition {
	i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return slices.Contains(types, c.Type) && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	return &job.Status.Conditions[i]
}

// newCondition returns a condition that is true since now.
func newCondition(kind batchv1.JobConditionType, reason, message string) *batchv1.JobCondition {
	now := metav1.Now()
	return &batchv1.JobCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastProbeTime: now, LastTransitionTime: now,
	}
}

// setCondition sets a condition of a Job, and reports whether that has changed the Job. A condition that is false isn't
// added.
func setCondition(job *batchv1.Job, condition batchv1.JobCondition) bool {
	conditions := job.Status.Conditions
	i := slices.IndexFunc(conditions, func(c batchv1.JobCondition) bool { return c.Type == condition.Type })
	switch {
	case i < 0 && condition.Status == corev1.ConditionFalse:
		return false
	case i < 0:
		job.Status.Conditions = append(conditions, condition)
		return true
	case conditions[i].Status == condition.Status && conditions[i].Reason == condition.Reason && conditions[i].Message == condition.Message:
		return false
	}
	conditions[i] = condition
	return true
}
