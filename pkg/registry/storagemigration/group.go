// Package storagemigration has the kinds of API group storagemigration.k8s.io, for migrations of stored objects to the
// current storage version.
package storagemigration

import (
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Group is the API group storagemigration.k8s.io, for migrations of stored objects to the current storage version.
var Group = registry.Group{
	Name: "storagemigration.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: storagemigrationv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: storagemigrationv1beta1.AddToScheme, OnDemand: true},
	},
	Priority: 15800,
	Kinds: []registry.Kind{
		storageVersionMigrationKind,
	},
}
