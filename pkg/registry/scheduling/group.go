// Package scheduling has the kinds of API group scheduling.k8s.io, which determine the order in which pods are
// scheduled, and the groups that are scheduled together.
package scheduling

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1alpha3 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/scheduling/v1alpha3"
	declarativev1beta1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/scheduling/v1beta1"
)

// Group is the API group scheduling.k8s.io. Its kinds are priorities of pods, and groups of pods.
var Group = registry.Group{
	Name: "scheduling.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: schedulingv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: schedulingv1beta1.AddToScheme,
			AddValidations: declarativev1beta1.RegisterValidations, OnDemand: true},
		{Name: "v1alpha3", AddToScheme: schedulingv1alpha3.AddToScheme,
			AddValidations: declarativev1alpha3.RegisterValidations, OnDemand: true, Priority: 5},
	},
	Priority: 16600,
	Kinds: []registry.Kind{
		priorityClassKind,
		workloadKind,
		podGroupKind,
		compositePodGroupKind,
	},
}
