package cronjob

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/controllers/job"
)

// refreshActive removes Jobs that have ended, and Jobs that are gone, from the list of active Jobs. It records the end
// of the last Job that was successful.
func (r *run) refreshActive(ctx context.Context) error {
	for _, owned := range r.jobs {
		finished := job.Finished(owned)
		active := isActive(r.cronJob, owned.UID)
		if finished == nil {
			if !active {
				if err := r.checkUnexpected(ctx, owned); err != nil {
					return err
				}
			}
			continue
		}
		if active {
			r.forget(owned.UID)
			r.Events.Tell(r.cronJob, "SawCompletedJob", "Saw completed job: %s, condition: %v", owned.Name, finished.Type)
		}
		last := r.cronJob.Status.LastSuccessfulTime
		if end := owned.Status.CompletionTime; finished.Type == batchv1.JobComplete && end != nil && (last == nil || end.After(last.Time)) {
			r.cronJob.Status.LastSuccessfulTime = end
		}
	}
	for _, active := range slices.Clone(r.cronJob.Status.Active) {
		if slices.ContainsFunc(r.jobs, func(owned *batchv1.Job) bool { return owned.UID == active.UID }) {
			continue
		}
		_, err := r.Client.Jobs(active.Namespace).Get(ctx, active.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			r.Events.Tell(r.cronJob, "MissingJob", "Active job went missing: %v", active.Name)
			r.forget(active.UID)
		case err != nil:
			return err
		}
	}
	return nil
}

// checkUnexpected records a warning about a running Job that the status doesn't have. The CronJob in the informer may be
// older than the Job, so the server's CronJob decides.
func (r *run) checkUnexpected(ctx context.Context, owned *batchv1.Job) error {
	fresh, err := r.Client.CronJobs(r.cronJob.Namespace).Get(ctx, r.cronJob.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if isActive(fresh, owned.UID) {
		r.stored, r.cronJob = fresh, fresh.DeepCopy()
		return nil
	}
	r.Events.Warn(r.cronJob, "UnexpectedJob", "Saw a job that the controller did not create or forgot: %s", owned.Name)
	return nil
}

// deleteActive deletes the Jobs that are running.
func (r *run) deleteActive(ctx context.Context) error {
	for _, active := range slices.Clone(r.cronJob.Status.Active) {
		job, err := r.Client.Jobs(active.Namespace).Get(ctx, active.Name, metav1.GetOptions{})
		if err != nil {
			r.Events.Warn(r.cronJob, "FailedGet", "Get job: %v", err)
			return err
		}
		if !r.deleteJob(ctx, job) {
			return fmt.Errorf("could not replace job %s/%s", job.Namespace, job.Name)
		}
	}
	return nil
}

// isActive reports whether a Job is in the list of active Jobs.
func isActive(cronJob *batchv1.CronJob, uid types.UID) bool {
	return slices.ContainsFunc(cronJob.Status.Active, func(active corev1.ObjectReference) bool { return active.UID == uid })
}

// forget removes a Job from the list of active Jobs.
func (r *run) forget(uid types.UID) {
	r.cronJob.Status.Active = slices.DeleteFunc(r.cronJob.Status.Active, func(active corev1.ObjectReference) bool { return active.UID == uid })
}
