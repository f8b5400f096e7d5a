package registry

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// extensions is where deployments and ingresses once were; they are stored where
// their groups of today store them.
var extensions = Group{
	Name: "extensions",
	Versions: []Version{
		{Name: "v1beta1", AddToScheme: extensionsv1beta1.AddToScheme, OnDemand: true},
	},
	Types:    []runtime.Object{&autoscalingv1.Scale{}},
	Priority: 17150,
	Borrowed: []schema.GroupResource{
		{Group: "apps", Resource: "deployments"},
		{Group: "apps", Resource: "daemonsets"},
		{Group: "apps", Resource: "replicasets"},
		{Group: "networking.k8s.io", Resource: "ingresses"},
		{Group: "networking.k8s.io", Resource: "networkpolicies"},
	},
}
