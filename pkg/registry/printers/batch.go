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
var Job = Of(
	[]Column{
		NameColumn,
		Text("Status", "Status of the job."),
		Text("Completions", Doc(batchv1.JobStatus{}, "succeeded")),
		Text("Duration", "Time required to complete the job."),
		AgeColumn,
		Wide(ContainersColumn),
		Wide(ImagesColumn),
		Wide(Text("Selector", Doc(batchv1.JobSpec{}, "selector"))),
	},
	func(j *batchv1.Job) []any {
		containers := j.Spec.Template.Spec.Containers
		return []any{
			j.Name, jobStatus(j), completions(j), jobDuration(j), Since(j.CreationTimestamp),
			ContainerNames(containers), ContainerImages(containers), metav1.FormatLabelSelector(j.Spec.Selector),
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
var CronJob = Of(
	[]Column{
		NameColumn,
		Text("Schedule", Doc(batchv1.CronJobSpec{}, "schedule")),
		Text("Timezone", Doc(batchv1.CronJobSpec{}, "timeZone")),
		Boolean("Suspend", Doc(batchv1.CronJobSpec{}, "suspend")),
		Number("Active", Doc(batchv1.CronJobStatus{}, "active")),
		Text("Last Schedule", Doc(batchv1.CronJobStatus{}, "lastScheduleTime")),
		AgeColumn,
		Wide(ContainersColumn),
		Wide(ImagesColumn),
		Wide(Text("Selector", Doc(batchv1.JobSpec{}, "selector"))),
	},
	func(c *batchv1.CronJob) []any {
		job := c.Spec.JobTemplate.Spec
		last := None
		if c.Status.LastScheduleTime != nil {
			last = Since(*c.Status.LastScheduleTime)
		}
		return []any{
			c.Name, c.Spec.Schedule, ptr.Deref(c.Spec.TimeZone, None), suspended(c), int64(len(c.Status.Active)),
			last, Since(c.CreationTimestamp),
			ContainerNames(job.Template.Spec.Containers), ContainerImages(job.Template.Spec.Containers),
			metav1.FormatLabelSelector(job.Selector),
		}
	})

func suspended(c *batchv1.CronJob) string {
	switch {
	case c.Spec.Suspend == nil:
		return Unset
	case *c.Spec.Suspend:
		return "True"
	}
	return "False"
}
