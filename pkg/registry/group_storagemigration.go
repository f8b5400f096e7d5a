package registry

import (
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// storagemigration is rewriting what is stored in the version that is stored today.
var storagemigration = Group{
	Name: "storagemigration.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: storagemigrationv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: storagemigrationv1beta1.AddToScheme, OnDemand: true},
	},
	Priority: 15800,
	Kinds: []Kind{
		{
			Resource: "storageversionmigrations",
			Object:   &storagemigrationv1.StorageVersionMigration{}, List: &storagemigrationv1.StorageVersionMigrationList{},
			Status:              true,
			StatusKeepsMetadata: true,
			Hooks: HooksOf[*storagemigrationv1.StorageVersionMigration]{
				Validate:             validation.StorageVersionMigration,
				ValidateUpdate:       validation.StorageVersionMigrationUpdate,
				ValidateStatusUpdate: validation.StorageVersionMigrationStatusUpdate,
			},
		},
	},
}
