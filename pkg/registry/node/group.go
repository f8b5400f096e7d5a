// Package node has the kinds of API group node.k8s.io, which configure the runtimes of containers on nodes.
package node

import (
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
	nodev1beta1 "k8s.io/api/node/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/node/v1"
)

// Group is the API group node.k8s.io. Its kind RuntimeClass selects the runtime of containers on nodes.
var Group = registry.Group{
	Name: "node.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: nodev1.AddToScheme, AddValidations: declarativev1.RegisterValidations},
		{Name: "v1beta1", AddToScheme: nodev1beta1.AddToScheme, OnDemand: true},
		{Name: "v1alpha1", AddToScheme: nodev1alpha1.AddToScheme, OnDemand: true, Removed: true, Priority: 1},
	},
	Priority:    16300,
	Conversions: conversions(),
	Kinds: []registry.Kind{
		runtimeClassKind,
	},
}
