// Package autoscaling has the kinds of API group autoscaling, which changes the size of workloads.
package autoscaling

import (
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev2 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/autoscaling/v2"
)

// Group is the API group autoscaling. Its objects are stored as v2. In v1, annotations hold the fields that only v2
// has.
var Group = registry.Group{
	Name: "autoscaling",
	Versions: []registry.Version{
		{Name: "v2", AddToScheme: autoscalingv2.AddToScheme, AddValidations: declarativev2.RegisterValidations, Priority: 30},
		{Name: "v1", AddToScheme: autoscalingv1.AddToScheme, Priority: 15},
	},
	Types:       []runtime.Object{&autoscalingv1.Scale{}},
	Priority:    17500,
	Conversions: slices.Concat(conversions(), scaleConversions()),
	Kinds: []registry.Kind{
		horizontalPodAutoscalerKind,
	},
}
