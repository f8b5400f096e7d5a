package registry

import (
	batchv1 "k8s.io/api/batch/v1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// batch is jobs, once and by the clock.
var batch = Group{
	Name: "batch",
	Versions: []Version{
		{Name: "v1", AddToScheme: batchv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: batchv1beta1.AddToScheme, OnDemand: true},
	},
	Priority: 17400,
	Kinds: []Kind{
		{
			Resource:   "cronjobs",
			ShortNames: []string{"cj"},
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &batchv1.CronJob{}, List: &batchv1.CronJobList{},
			Defaults:      []Default{DefaultOf(defaults.CronJob), DefaultOf(defaults.BatchV1beta1CronJob)},
			PodSpec:       PodSpecOf("spec.jobTemplate.spec.template.spec", func(c *batchv1.CronJob) *corev1.PodSpec { return &c.Spec.JobTemplate.Spec.Template.Spec }),
			Status:        true,
			Generation:    true,
			OrphanThrough: []schema.GroupVersion{batchv1beta1.SchemeGroupVersion},
			Printer:       &printers.CronJob,
			Hooks: HooksOf[*batchv1.CronJob]{
				Validate:       validation.CronJob,
				ValidateUpdate: validation.CronJobUpdate,
				Warnings:       warnings.CronJob,
			},
		},
		{
			Resource:   "jobs",
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &batchv1.Job{}, List: &batchv1.JobList{},
			Defaults:      []Default{DefaultOf(defaults.Job)},
			PodSpec:       PodSpecOf("spec.template.spec", func(j *batchv1.Job) *corev1.PodSpec { return &j.Spec.Template.Spec }),
			Status:        true,
			Generation:    true,
			OrphanThrough: []schema.GroupVersion{batchv1.SchemeGroupVersion},
			Printer:       &printers.Job,
			Hooks:         jobHooks,
			Fields:        jobFields,
			Storage:       newJobStorage,
		},
	},
}
