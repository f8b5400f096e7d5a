package batch

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestDeclared checks the rules that the Go types declare.
func TestDeclared(t *testing.T) {
	t.Parallel()
	scheduled := func(j *batchv1.Job) { j.Spec.Scheduling = &batchv1.JobSchedulingConfiguration{} }
	cron := &batchv1.CronJob{ObjectMeta: registrytest.Stored("c"), Spec: batchv1.CronJobSpec{
		ConcurrencyPolicy: batchv1.AllowConcurrent, JobTemplate: batchv1.JobTemplateSpec{Spec: jobWith(unchangedJob).Spec},
	}}
	cron.Spec.JobTemplate.Spec.Selector, cron.Spec.JobTemplate.Spec.ManualSelector = nil, nil
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "schedule", Reason: "a cron job has a schedule",
			Object: cron, Want: []string{"spec.schedule: Required value"},
		},
		{
			Name: "scheduling", Reason: "gang scheduling requires a gate that is off, and the object has the field nevertheless",
			Object: jobWith(scheduled), Old: jobWith(unchangedJob),
			Want: []string{"spec.scheduling: Forbidden", "spec.scheduling: Invalid value: null: field cannot be set once created"},
		},
		{
			Name: "stored scheduling", Reason: "the job was created while the gate was on, and ends when it loses its finalizers",
			Object: jobWith(scheduled), Old: jobWith(scheduled),
		},
	})
}
