// Package lifecycle has the kinds of API group lifecycle.k8s.io, by which pods are evicted in steps (KEP-4563).
package lifecycle

import (
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1alpha1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/lifecycle/v1alpha1"
)

// Group is the API group lifecycle.k8s.io. Its kinds are requests for evictions, and the progress of evictions.
var Group = registry.Group{
	Name: "lifecycle.k8s.io",
	Versions: []registry.Version{
		{Name: "v1alpha1", AddToScheme: lifecyclev1alpha1.AddToScheme,
			AddValidations: declarativev1alpha1.RegisterValidations, OnDemand: true},
	},
	Priority: 15600,
	Kinds: []registry.Kind{
		evictionKind,
		evictionRequestKind,
	},
}
