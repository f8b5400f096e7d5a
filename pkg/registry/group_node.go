package registry

import (
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
	nodev1beta1 "k8s.io/api/node/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// node is how containers are run on nodes.
var node = Group{
	Name: "node.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: nodev1.AddToScheme},
		{Name: "v1beta1", AddToScheme: nodev1beta1.AddToScheme, OnDemand: true},
		{Name: "v1alpha1", AddToScheme: nodev1alpha1.AddToScheme, OnDemand: true},
	},
	Kinds: []Kind{
		{
			Resource: "runtimeclasses",
			Object:   &nodev1.RuntimeClass{}, List: &nodev1.RuntimeClassList{},
			ConditionalUpdate: true,
			Printer:           &printers.RuntimeClass,
			Hooks: HooksOf[*nodev1.RuntimeClass]{
				Validate:       validation.RuntimeClass,
				ValidateUpdate: validation.RuntimeClassUpdate,
				Warnings:       warnings.RuntimeClass,
			},
		},
	},
}
