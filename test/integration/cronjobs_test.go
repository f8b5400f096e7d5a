package integration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// completeJob writes the status of a Job that has succeeded.
func completeJob(t *testing.T, client kubernetes.Interface, job *batchv1.Job) {
	t.Helper()
	now := metav1.Now()
	job = job.DeepCopy()
	job.Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1}
	for _, condition := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	must(client.BatchV1().Jobs(job.Namespace).UpdateStatus(t.Context(), job, metav1.UpdateOptions{}))(t)
}

var simpleJob = batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
	RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "c"}},
}}}

// A CronJob makes a Job for the last time of its schedule that has passed, follows the Job to its end, and deletes it
// when its history is full.
func TestCronJobMakesJobs(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t, withControllers("cronjob")).Client()
	cronJobs, jobs := client.BatchV1().CronJobs("default"), client.BatchV1().Jobs("default")
	cronJob := must(cronJobs.Create(t.Context(), &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "yearly"},
		Spec: batchv1.CronJobSpec{Schedule: "30 12 1 1 *", Suspend: new(true), SuccessfulJobsHistoryLimit: new(int32(0)),
			JobTemplate: batchv1.JobTemplateSpec{Spec: simpleJob}},
	}, metav1.CreateOptions{}))(t)
	now := time.Now().UTC()
	due := time.Date(now.Year(), 1, 1, 12, 30, 0, 0, time.UTC)
	if due.After(now) {
		due = due.AddDate(-1, 0, 0)
	}
	cronJob.Status.LastScheduleTime = &metav1.Time{Time: due.AddDate(-1, 0, 0)}
	must(cronJobs.UpdateStatus(t.Context(), cronJob, metav1.UpdateOptions{}))(t)
	must(cronJobs.Patch(t.Context(), "yearly", "application/merge-patch+json", []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{}))(t)

	name := fmt.Sprintf("yearly-%d", due.Unix()/60)
	eventually(t, func(ctx context.Context) error {
		found, err := cronJobs.Get(ctx, "yearly", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if active := found.Status.Active; len(active) != 1 || active[0].Name != name || !found.Status.LastScheduleTime.Equal(&metav1.Time{Time: due}) {
			return fmt.Errorf("want the active job %s of the time %s, got %+v", name, due, found.Status)
		}
		return nil
	})
	job := must(jobs.Get(t.Context(), name, metav1.GetOptions{}))(t)
	if !metav1.IsControlledBy(job, cronJob) || job.Annotations[batchv1.CronJobScheduledTimestampAnnotation] != due.Format(time.RFC3339) {
		t.Errorf("want a job of the CronJob for the time %s, got %+v", due, job.ObjectMeta)
	}
	completeJob(t, client, job)
	gone(t, "the completed job", func(ctx context.Context) (*batchv1.Job, error) { return jobs.Get(ctx, name, metav1.GetOptions{}) })
	eventually(t, func(ctx context.Context) error {
		found, err := cronJobs.Get(ctx, "yearly", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(found.Status.Active) != 0 || found.Status.LastSuccessfulTime == nil {
			return fmt.Errorf("want no active job and the time of the last success, got %+v", found.Status)
		}
		return nil
	})
}
