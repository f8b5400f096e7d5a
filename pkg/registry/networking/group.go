// Package networking has the kinds of API group networking.k8s.io: ingresses, network policies, and the cluster IPs of
// services.
package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/networking/v1"
)

// Group is the API group networking.k8s.io.
var Group = registry.Group{
	Name: "networking.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: networkingv1.AddToScheme, AddValidations: declarativev1.RegisterValidations},
		{Name: "v1beta1", AddToScheme: networkingv1beta1.AddToScheme, OnDemand: true},
	},
	Priority:    17200,
	Conversions: conversions(),
	Kinds: []registry.Kind{
		ingressKind,
		ingressClassKind,
		networkPolicyKind,
		ipAddressKind,
		serviceCIDRKind,
	},
}
