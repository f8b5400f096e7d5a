// Package networking has the kinds of API group networking.k8s.io, which direct traffic to services and pods.
package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Group is the API group networking.k8s.io. Its kinds direct traffic to services and pods.
var Group = registry.Group{
	Name: "networking.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: networkingv1.AddToScheme},
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
