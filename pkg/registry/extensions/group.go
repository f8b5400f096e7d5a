// Package extensions has API group extensions, which serves kinds that have moved to other groups. The other groups
// store the objects.
package extensions

import (
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Group is the API group extensions. It has kinds that have moved to other groups, such as ingresses. The other
// groups store the objects.
var Group = registry.Group{
	Name: "extensions",
	Versions: []registry.Version{
		{Name: "v1beta1", AddToScheme: extensionsv1beta1.AddToScheme, OnDemand: true, Priority: 1},
	},
	Types:    []runtime.Object{&autoscalingv1.Scale{}, &appsv1beta1.DeploymentRollback{}},
	Priority: 17150,
	Borrowed: []schema.GroupResource{
		{Group: "apps", Resource: "deployments"},
		{Group: "apps", Resource: "daemonsets"},
		{Group: "apps", Resource: "replicasets"},
		{Group: "networking.k8s.io", Resource: "ingresses"},
		{Group: "networking.k8s.io", Resource: "networkpolicies"},
	},
}
