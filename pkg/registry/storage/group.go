// Package storage has the kinds of API group storage.k8s.io, which provide volumes.
package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/storage/v1"
)

// Group is the API group storage.k8s.io. Its kinds provide volumes.
var Group = registry.Group{
	Name: "storage.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: storagev1.AddToScheme, AddValidations: declarativev1.RegisterValidations},
		{Name: "v1beta1", AddToScheme: storagev1beta1.AddToScheme, OnDemand: true},
		{Name: "v1alpha1", AddToScheme: storagev1alpha1.AddToScheme, OnDemand: true, Removed: true, Priority: 1},
	},
	Priority: 16800,
	Kinds: []registry.Kind{
		csiDriverKind,
		csiNodeKind,
		csiStorageCapacityKind,
		storageClassKind,
		volumeAttachmentKind,
		volumeAttributesClassKind,
	},
}
