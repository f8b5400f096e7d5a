package registry

import (
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
)

// policy limits what may be disrupted; evictions are created at pods/eviction.
var policy = Group{
	Name: "policy",
	Versions: []Version{
		{Name: "v1", AddToScheme: policyv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: policyv1beta1.AddToScheme, Legacy: true},
	},
	Kinds: []Kind{
		{
			Resource:   "poddisruptionbudgets",
			ShortNames: []string{"pdb"},
			Namespaced: true,
			Object:     &policyv1.PodDisruptionBudget{}, List: &policyv1.PodDisruptionBudgetList{},
			Status:     true,
			Generation: true,
		},
	},
}
