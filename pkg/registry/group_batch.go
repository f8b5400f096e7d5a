package registry

import (
	batchv1 "k8s.io/api/batch/v1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	Kinds: []Kind{
		{
			Resource:   "cronjobs",
			ShortNames: []string{"cj"},
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &batchv1.CronJob{}, List: &batchv1.CronJobList{},
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
