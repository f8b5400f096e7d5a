// Package policy has the kinds of API group policy, which limit disruptions of pods. Evictions are created at
// pods/eviction.
package policy

import (
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Group is the API group policy. Its kinds limit disruptions of pods. The kind Eviction of this group is created at
// pods/eviction.
var Group = registry.Group{
	Name: "policy",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: policyv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: policyv1beta1.AddToScheme, OnDemand: true},
	},
	Priority:    17100,
	Conversions: conversions(),
	Kinds: []registry.Kind{
		podDisruptionBudgetKind,
	},
}
