package registry

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// scheduling is which pods go first, and which go together.
var scheduling = Group{
	Name: "scheduling.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: schedulingv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: schedulingv1beta1.AddToScheme, OnDemand: true},
	},
	Priority: 16600,
	Kinds: []Kind{
		{
			Resource:   "priorityclasses",
			ShortNames: []string{"pc"},
			Object:     &schedulingv1.PriorityClass{}, List: &schedulingv1.PriorityClassList{},
			Defaults:   []Default{DefaultOf(defaults.PriorityClass), DefaultOf(defaults.SchedulingV1beta1PriorityClass)},
			Generation: true,
			Printer:    &printers.PriorityClass,
			Storage:    newPriorityClassStorage,
			Hooks: HooksOf[*schedulingv1.PriorityClass]{
				// A class has no generation but its first.
				SpecChanged:    func(_, _ *schedulingv1.PriorityClass) bool { return false },
				Validate:       validation.PriorityClass,
				ValidateUpdate: validation.PriorityClassUpdate,
			},
		},
		{
			Resource:   "workloads",
			Namespaced: true,
			Object:     &schedulingv1beta1.Workload{}, List: &schedulingv1beta1.WorkloadList{},
			Printer: &printers.Workload,
			Hooks: HooksOf[*schedulingv1beta1.Workload]{
				Validate:       validation.Workload,
				ValidateUpdate: validation.WorkloadUpdate,
			},
		},
		{
			Resource:   "podgroups",
			Namespaced: true,
			Object:     &schedulingv1beta1.PodGroup{}, List: &schedulingv1beta1.PodGroupList{},
			Defaults:            []Default{DefaultOf(defaults.SchedulingV1beta1PodGroup)},
			Status:              true,
			StatusKeepsMetadata: true,
			Printer:             &printers.PodGroup,
			Hooks: HooksOf[*schedulingv1beta1.PodGroup]{
				Validate:             validation.PodGroup,
				ValidateUpdate:       validation.PodGroupUpdate,
				ValidateStatusUpdate: validation.PodGroupStatusUpdate,
			},
		},
	},
}
