// Package discovery has the kinds of API group discovery.k8s.io, which list the endpoints of services.
package discovery

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/discovery/v1"
)

// Group is the API group discovery.k8s.io. It has the endpoints of services.
var Group = registry.Group{
	Name: "discovery.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: discoveryv1.AddToScheme, AddValidations: declarativev1.RegisterValidations},
		{Name: "v1beta1", AddToScheme: discoveryv1beta1.AddToScheme, OnDemand: true, Priority: 12},
	},
	Priority:    16200,
	Conversions: conversions(),
	Kinds: []registry.Kind{
		endpointSliceKind,
	},
}
