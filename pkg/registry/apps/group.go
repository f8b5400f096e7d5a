// Package apps has the kinds of API group apps, which keeps pods running.
package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Group is the API group apps. It has the workloads that keep pods running.
var Group = registry.Group{
	Name: "apps",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: appsv1.AddToScheme},
		{Name: "v1beta2", AddToScheme: appsv1beta2.AddToScheme, OnDemand: true},
		{Name: "v1beta1", AddToScheme: appsv1beta1.AddToScheme, OnDemand: true, Priority: 1},
	},
	Types:       []runtime.Object{&autoscalingv1.Scale{}, &appsv1beta1.DeploymentRollback{}},
	Priority:    17800,
	Conversions: conversions(),
	Kinds: []registry.Kind{
		controllerRevisionKind,
		daemonSetKind,
		deploymentKind,
		replicaSetKind,
		statefulSetKind,
	},
}
