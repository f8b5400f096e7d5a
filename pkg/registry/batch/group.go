// Package batch has the kinds of API group batch, which runs pods to completion, once or on a schedule.
package batch

import (
	batchv1 "k8s.io/api/batch/v1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/batch/v1"
)

// Group is the API group batch. It has jobs, and cron jobs, which create jobs on a schedule.
var Group = registry.Group{
	Name: "batch",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: batchv1.AddToScheme, AddValidations: declarativev1.RegisterValidations},
		{Name: "v1beta1", AddToScheme: batchv1beta1.AddToScheme, OnDemand: true},
	},
	Priority: 17400,
	Kinds: []registry.Kind{
		cronJobKind,
		jobKind,
	},
}
