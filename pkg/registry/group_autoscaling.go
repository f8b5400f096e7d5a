package registry

import (
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// autoscalingGroup is stored as v2; v1 keeps what it can't say in annotations.
var autoscalingGroup = Group{
	Name: "autoscaling",
	Versions: []Version{
		{Name: "v2", AddToScheme: autoscalingv2.AddToScheme},
		{Name: "v1", AddToScheme: autoscalingv1.AddToScheme},
	},
	Types:       []runtime.Object{&autoscalingv1.Scale{}},
	Priority:    17500,
	Conversions: slices.Concat(conversion.Autoscaling(), conversion.Scale()),
	Kinds: []Kind{
		{
			Resource:   "horizontalpodautoscalers",
			ShortNames: []string{"hpa"},
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &autoscalingv2.HorizontalPodAutoscaler{}, List: &autoscalingv2.HorizontalPodAutoscalerList{},
			Defaults: []Default{
				DefaultOf(defaults.HorizontalPodAutoscaler),
				DefaultOf(defaults.AutoscalingV1HorizontalPodAutoscaler),
			},
			Status:  true,
			Printer: &printers.HorizontalPodAutoscaler,
			Hooks: HooksOf[*autoscalingv2.HorizontalPodAutoscaler]{
				Validate:             validation.HorizontalPodAutoscaler,
				ValidateUpdate:       validation.HorizontalPodAutoscalerUpdate,
				ValidateStatusUpdate: validation.HorizontalPodAutoscalerStatusUpdate,
			},
			Gated: []Gate{GateOf[autoscalingv2.HorizontalPodAutoscaler]("1.35", "HPAConfigurableTolerance",
				"Spec.Behavior.ScaleUp.Tolerance", "Spec.Behavior.ScaleDown.Tolerance")},
		},
	},
}
