// Package resource has the kinds of API group resource.k8s.io, for the allocation of devices (dynamic resource
// allocation).
package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/resource/v1"
	declarativev1alpha3 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/resource/v1alpha3"
	declarativev1beta1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/resource/v1beta1"
)

// Group is the API group resource.k8s.io. It has the kinds of dynamic resource allocation.
var Group = registry.Group{
	Name: "resource.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: resourcev1.AddToScheme, AddValidations: declarativev1.RegisterValidations, Priority: 21},
		{Name: "v1beta2", AddToScheme: resourcev1beta2.AddToScheme, OnDemand: true, Priority: 15},
		{Name: "v1beta1", AddToScheme: resourcev1beta1.AddToScheme,
			AddValidations: declarativev1beta1.RegisterValidations, OnDemand: true},
		{Name: "v1alpha3", AddToScheme: resourcev1alpha3.AddToScheme,
			AddValidations: declarativev1alpha3.RegisterValidations, OnDemand: true, Priority: 1},
	},
	Priority:    16200,
	Conversions: conversions(),
	Kinds: []registry.Kind{
		deviceClassKind,
		deviceTaintRuleKind,
		resourceClaimKind,
		resourceClaimTemplateKind,
		resourcePoolStatusRequestKind,
		resourceSliceKind,
	},
}
