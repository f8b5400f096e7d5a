// Package job has what controllers of Jobs share.
package job

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Finished returns the condition that says that a Job has ended, Complete or Failed. It returns nil for other Jobs.
func Finished(job *batchv1.Job) *batchv1.JobCondition {
	i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	return &job.Status.Conditions[i]
}
