package registry

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// scheduling is which pods go first.
var scheduling = Group{
	Name: "scheduling.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: schedulingv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: schedulingv1beta1.AddToScheme, OnDemand: true},
	},
	Kinds: []Kind{
		{
			Resource:   "priorityclasses",
			ShortNames: []string{"pc"},
			Object:     &schedulingv1.PriorityClass{}, List: &schedulingv1.PriorityClassList{},
			Generation: true,
			Printer:    &printers.PriorityClass,
			Hooks: HooksOf[*schedulingv1.PriorityClass]{
				// A class has no generation but its first.
				SpecChanged:    func(_, _ *schedulingv1.PriorityClass) bool { return false },
				Validate:       validation.PriorityClass,
				ValidateUpdate: validation.PriorityClassUpdate,
			},
		},
	},
}
