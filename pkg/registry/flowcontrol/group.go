// Package flowcontrol has the kinds of API group flowcontrol.apiserver.k8s.io, which limit and prioritize the requests
// that the server handles at the same time.
package flowcontrol

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/flowcontrol/v1"
)

// Group is the API group flowcontrol.apiserver.k8s.io. Its kinds configure how requests share the server's capacity.
var Group = registry.Group{
	Name: "flowcontrol.apiserver.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: flowcontrolv1.AddToScheme, AddValidations: declarativev1.RegisterValidations, Priority: 21},
		{Name: "v1beta3", AddToScheme: flowcontrolv1beta3.AddToScheme, OnDemand: true, Priority: 18},
		{Name: "v1beta2", AddToScheme: flowcontrolv1beta2.AddToScheme, OnDemand: true, Priority: 15},
		{Name: "v1beta1", AddToScheme: flowcontrolv1beta1.AddToScheme, OnDemand: true, Priority: 12},
	},
	Priority:    16100,
	Conversions: conversions(),
	Kinds: []registry.Kind{
		flowSchemaKind,
		priorityLevelConfigurationKind,
	},
}
