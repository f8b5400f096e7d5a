package printers

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"
)

// Job is shown by how far it is.
var Job = of(
	[]column{
		nameColumn,
		text("Status", "Status of the job."),
		text("Completions", doc(batchv1.JobStatus{}, "succeeded")),
		text("Duration", "Time required to complete the job."),
		ageColumn,
		wide(containersColumn),
		wide(imagesColumn),
		wide(text("Selector", doc(batchv1.JobSpec{}, "selector"))),
	},
	func(j *batchv1.Job) []any {
		containers := j.Spec.Template.Spec.Containers
		return []any{
			j.Name, jobStatus(j), completions(j), jobDuration(j), since(j.CreationTimestamp),
			containerNames(containers), containerImages(containers), metav1.FormatLabelSelector(j.Spec.Selector),
		}
	})

func jobStatus(j *batchv1.Job) string {
	is := func(t batchv1.JobConditionType) bool {
		for _, condition := range j.Status.Conditions {
			if condition.Type == t {
				return condition.Status == corev1.ConditionTrue
			}
		}
		return false
	}
	switch {
	case is(batchv1.JobComplete):
		return "Complete"
	case is(batchv1.JobFailed):
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case is(batchv1.JobSuspended):
		return "Suspended"
	case is(batchv1.JobFailureTarget):
		return "FailureTarget"
	case is(batchv1.JobSuccessCriteriaMet):
		return "SuccessCriteriaMet"
	}
	return "Running"
}

// completions are those reached of those asked for. A work queue asks for one of its
// pods to succeed.
func completions(j *batchv1.Job) string {
	switch {
	case j.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	case ptr.Deref(j.Spec.Parallelism, 0) > 1:
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, *j.Spec.Parallelism)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

func jobDuration(j *batchv1.Job) string {
	switch start, end := j.Status.StartTime, j.Status.CompletionTime; {
	case start == nil:
		return ""
	case end == nil:
		return duration.HumanDuration(time.Since(start.Time))
	default:
		return duration.HumanDuration(end.Sub(start.Time))
	}
}

// CronJob is shown by when it runs.
var CronJob = of(
	[]column{
		nameColumn,
		text("Schedule", doc(batchv1.CronJobSpec{}, "schedule")),
		text("Timezone", doc(batchv1.CronJobSpec{}, "timeZone")),
		boolean("Suspend", doc(batchv1.CronJobSpec{}, "suspend")),
		number("Active", doc(batchv1.CronJobStatus{}, "active")),
		text("Last Schedule", doc(batchv1.CronJobStatus{}, "lastScheduleTime")),
		ageColumn,
		wide(containersColumn),
		wide(imagesColumn),
		wide(text("Selector", doc(batchv1.JobSpec{}, "selector"))),
	},
	func(c *batchv1.CronJob) []any {
		job := c.Spec.JobTemplate.Spec
		last := none
		if c.Status.LastScheduleTime != nil {
			last = since(*c.Status.LastScheduleTime)
		}
		return []any{
			c.Name, c.Spec.Schedule, ptr.Deref(c.Spec.TimeZone, none), suspended(c), int64(len(c.Status.Active)),
			last, since(c.CreationTimestamp),
			containerNames(job.Template.Spec.Containers), containerImages(job.Template.Spec.Containers),
			metav1.FormatLabelSelector(job.Selector),
		}
	})

func suspended(c *batchv1.CronJob) string {
	switch {
	case c.Spec.Suspend == nil:
		return unset
	case *c.Spec.Suspend:
		return "True"
	}
	return "False"
}
