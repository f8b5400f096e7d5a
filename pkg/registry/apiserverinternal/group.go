// Package apiserverinternal has the kinds of API group internal.apiserver.k8s.io, which API servers write for one another.
package apiserverinternal

import (
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Group is the API group internal.apiserver.k8s.io. Its kind tells in which versions the servers of a cluster store objects.
var Group = registry.Group{
	Name: "internal.apiserver.k8s.io",
	Versions: []registry.Version{
		{Name: "v1alpha1", AddToScheme: apiserverinternalv1alpha1.AddToScheme, OnDemand: true, Priority: 9},
	},
	Priority: 16000,
	Kinds: []registry.Kind{
		storageVersionKind,
	},
}
