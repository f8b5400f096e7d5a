package registry

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
)

// storageGroup is how volumes are provided.
var storageGroup = Group{
	Name: "storage.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: storagev1.AddToScheme},
		{Name: "v1beta1", AddToScheme: storagev1beta1.AddToScheme, OnDemand: true},
	},
	Kinds: []Kind{
		{
			Resource: "csidrivers",
			Object:   &storagev1.CSIDriver{}, List: &storagev1.CSIDriverList{},
			Generation:    true,
			ReturnDeleted: true,
		},
		{
			Resource: "csinodes",
			Object:   &storagev1.CSINode{}, List: &storagev1.CSINodeList{},
			ReturnDeleted: true,
		},
		{
			Resource:   "csistoragecapacities",
			Namespaced: true,
			Object:     &storagev1.CSIStorageCapacity{}, List: &storagev1.CSIStorageCapacityList{},
		},
		{
			Resource:   "storageclasses",
			ShortNames: []string{"sc"},
			Object:     &storagev1.StorageClass{}, List: &storagev1.StorageClassList{},
			ReturnDeleted: true,
		},
		{
			Resource: "volumeattachments",
			Object:   &storagev1.VolumeAttachment{}, List: &storagev1.VolumeAttachmentList{},
			Status:              true,
			StatusKeepsMetadata: true,
			ReturnDeleted:       true,
		},
		{
			Resource:   "volumeattributesclasses",
			ShortNames: []string{"vac"},
			Object:     &storagev1.VolumeAttributesClass{}, List: &storagev1.VolumeAttributesClassList{},
			ReturnDeleted: true,
		},
	},
}
