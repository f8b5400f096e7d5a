package cronjob

import (
	"cmp"
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/job"
)

// deleteOldest deletes the oldest Jobs that have ended, as far as there are more than the CronJob keeps.
func (r *run) deleteOldest(ctx context.Context) {
	for _, history := range []struct {
		condition batchv1.JobConditionType
		limit     *int32
	}{
		{batchv1.JobComplete, r.cronJob.Spec.SuccessfulJobsHistoryLimit},
		{batchv1.JobFailed, r.cronJob.Spec.FailedJobsHistoryLimit},
	} {
		if history.limit == nil {
			continue
		}
		var ended []*batchv1.Job
		for _, owned := range r.jobs {
			if finished := job.Finished(owned); finished != nil && finished.Type == history.condition {
				ended = append(ended, owned)
			}
		}
		slices.SortFunc(ended, byStart)
		for _, oldest := range ended[:max(0, len(ended)-int(*history.limit))] {
			r.deleteJob(ctx, oldest)
		}
	}
}

// byStart orders Jobs by the times of their starts. Jobs that haven't started are last.
func byStart(a, b *batchv1.Job) int {
	switch aStart, bStart := a.Status.StartTime, b.Status.StartTime; {
	case aStart.Equal(bStart):
		return cmp.Compare(a.Name, b.Name)
	case aStart == nil:
		return 1
	case bStart == nil:
		return -1
	default:
		return aStart.Compare(bStart.Time)
	}
}

// deleteJob deletes a Job, and removes it from the list of active Jobs. It reports whether the Job was deleted.
func (r *run) deleteJob(ctx context.Context, owned *batchv1.Job) bool {
	options := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	if err := r.Client.Jobs(owned.Namespace).Delete(ctx, owned.Name, options); err != nil {
		r.Events.Warn(r.cronJob, "FailedDelete", "Deleted job: %v", err)
		return false
	}
	r.forget(owned.UID)
	r.Events.Tell(r.cronJob, "SuccessfulDelete", "Deleted job %v", owned.Name)
	return true
}
