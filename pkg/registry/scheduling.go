package registry

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
)

// scheduling is which pods go first.
var scheduling = Group{
	Name: "scheduling.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: schedulingv1.AddToScheme},
	},
	Kinds: []Kind{
		{
			Resource:   "priorityclasses",
			ShortNames: []string{"pc"},
			Object:     &schedulingv1.PriorityClass{}, List: &schedulingv1.PriorityClassList{},
			Generation: true,
		},
	},
}
