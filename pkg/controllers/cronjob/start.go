package cronjob

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/reference"
	"k8s.io/utils/ptr"
)

// start brings the list of active Jobs up to date, and makes the Job of the last time of the schedule that has passed,
// unless it was made before. It returns the time until the next time, or 0 if the CronJob makes no Jobs.
func (r *run) start(ctx context.Context) (time.Duration, error) {
	if err := r.refreshActive(ctx); err != nil {
		return 0, err
	}
	spec := &r.cronJob.Spec
	if r.cronJob.DeletionTimestamp != nil {
		return 0, nil
	}
	if zone := ptr.Deref(spec.TimeZone, ""); spec.TimeZone != nil {
		if _, err := time.LoadLocation(zone); err != nil {
			r.Events.Warn(r.cronJob, "UnknownTimeZone", "invalid timeZone: %q: %s", zone, err)
			return 0, nil
		}
	}
	if ptr.Deref(spec.Suspend, false) {
		return 0, nil
	}
	if hasZone(spec.Schedule) {
		r.Events.Warn(r.cronJob, "UnsupportedSchedule", "CRON_TZ or TZ used in schedule %q is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details", spec.Schedule)
	}
	schedule, err := parse(r.cronJob)
	if err != nil {
		r.Events.Warn(r.cronJob, "UnparseableSchedule", "unparseable schedule: %q : %s", spec.Schedule, err)
		return 0, nil
	}
	passed, err := passedTimes(r.cronJob, r.now, schedule, spec.StartingDeadlineSeconds)
	if err != nil {
		r.Events.Warn(r.cronJob, "InvalidSchedule", "invalid schedule: %s : %s", spec.Schedule, err)
		return 0, nil
	}
	if !passed.last.IsZero() {
		if passed.count > manyPassed {
			r.Events.Warn(r.cronJob, "TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
		}
		if err := r.startAt(ctx, passed.last); err != nil {
			return 0, err
		}
	}
	return untilNext(r.cronJob, r.now, schedule), nil
}

// startAt makes the Job of a time of the schedule, unless the Job was made before or the CronJob doesn't allow it.
func (r *run) startAt(ctx context.Context, at time.Time) error {
	spec, status := &r.cronJob.Spec, &r.cronJob.Status
	job := jobOf(r.cronJob, at)
	switch {
	case spec.StartingDeadlineSeconds != nil && at.Add(time.Duration(*spec.StartingDeadlineSeconds)*time.Second).Before(r.now):
		r.Events.Warn(r.cronJob, "MissSchedule", "Missed scheduled time to start a job: %s", at.UTC().Format(time.RFC1123Z))
		return nil
	case slices.ContainsFunc(status.Active, func(active corev1.ObjectReference) bool { return active.Name == job.Name }),
		status.LastScheduleTime.Equal(&metav1.Time{Time: at}):
		return nil
	case spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(status.Active) > 0:
		r.Events.Tell(r.cronJob, "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
		return nil
	case spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent:
		if err := r.deleteActive(ctx); err != nil {
			return err
		}
	}
	created, err := r.Client.Jobs(r.cronJob.Namespace).Create(ctx, job, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		// The controller has made the Job before, but couldn't write the status, or the Job is another client's.
		if created, err = r.Client.Jobs(r.cronJob.Namespace).Get(ctx, job.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		if !metav1.IsControlledBy(created, r.cronJob) || isActive(r.cronJob, created.UID) {
			return nil
		}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return err
	case err != nil:
		r.Events.Warn(r.cronJob, "FailedCreate", "Error creating job: %v", err)
		return err
	default:
		r.Events.Tell(r.cronJob, "SuccessfulCreate", "Created job %v", created.Name)
	}
	ref, err := reference.GetReference(scheme.Scheme, created)
	if err != nil {
		return fmt.Errorf("unable to make object reference for job for %s/%s", r.cronJob.Namespace, r.cronJob.Name)
	}
	status.Active = append(status.Active, *ref)
	status.LastScheduleTime = &metav1.Time{Time: at}
	return nil
}

// jobOf returns the Job of a time of the schedule. Its name has the minutes of the time since 1970, so that the Job
// can't be made twice.
func jobOf(cronJob *batchv1.CronJob, at time.Time) *batchv1.Job {
	template := cronJob.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:            fmt.Sprintf("%s-%d", cronJob.Name, at.Unix()/60),
			Labels:          template.Labels,
			Annotations:     map[string]string{},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cronJob, kind)},
		},
		Spec: template.Spec,
	}
	maps.Copy(job.Annotations, template.Annotations)
	job.Annotations[batchv1.CronJobScheduledTimestampAnnotation] = at.In(locationOf(cronJob)).Format(time.RFC3339)
	return job
}
