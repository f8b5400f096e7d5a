package registry

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// storageGroup is how volumes are provided.
var storageGroup = Group{
	Name: "storage.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: storagev1.AddToScheme},
		{Name: "v1beta1", AddToScheme: storagev1beta1.AddToScheme, OnDemand: true},
		{Name: "v1alpha1", AddToScheme: storagev1alpha1.AddToScheme, OnDemand: true},
	},
	Priority: 16800,
	Kinds: []Kind{
		{
			Resource: "csidrivers",
			Object:   &storagev1.CSIDriver{}, List: &storagev1.CSIDriverList{},
			Defaults:          []Default{DefaultOf(defaults.CSIDriver), DefaultOf(defaults.StorageV1beta1CSIDriver)},
			ReturnDeleted:     true,
			ConditionalUpdate: true,
			Printer:           &printers.CSIDriver,
			Hooks: HooksOf[*storagev1.CSIDriver]{
				PrepareForUpdate: countDriverChanges,
				Validate:         validation.CSIDriver,
				ValidateUpdate:   validation.CSIDriverUpdate,
				Warnings:         warnings.CSIDriver,
			},
			Gated: []Gate{
				GateOf[storagev1.CSIDriver]("1.35", "MutableCSINodeAllocatableCount", "Spec.NodeAllocatableUpdatePeriodSeconds"),
				GateOf[storagev1.CSIDriver]("1.35", "CSIServiceAccountTokenSecrets", "Spec.ServiceAccountTokenInSecrets"),
				GateOf[storagev1.CSIDriver]("1.37", "VolumeLimitScaling", "Spec.PreventPodSchedulingIfMissing"),
			},
		},
		{
			Resource: "csinodes",
			Object:   &storagev1.CSINode{}, List: &storagev1.CSINodeList{},
			Resets:            []string{"status"},
			ReturnDeleted:     true,
			ConditionalUpdate: true,
			Printer:           &printers.CSINode,
			Hooks:             csiNodeHooks,
		},
		{
			Resource:   "csistoragecapacities",
			Namespaced: true,
			Object:     &storagev1.CSIStorageCapacity{}, List: &storagev1.CSIStorageCapacityList{},
			ConditionalUpdate: true,
			Hooks: HooksOf[*storagev1.CSIStorageCapacity]{
				Validate:       validation.CSIStorageCapacity,
				ValidateUpdate: validation.CSIStorageCapacityUpdate,
				Warnings:       warnings.CSIStorageCapacity,
			},
		},
		{
			Resource:   "storageclasses",
			ShortNames: []string{"sc"},
			Object:     &storagev1.StorageClass{}, List: &storagev1.StorageClassList{},
			Defaults:      []Default{DefaultOf(defaults.StorageClass), DefaultOf(defaults.StorageV1beta1StorageClass)},
			ReturnDeleted: true,
			Printer:       &printers.StorageClass,
			Hooks: HooksOf[*storagev1.StorageClass]{
				Validate:       validation.StorageClass,
				ValidateUpdate: validation.StorageClassUpdate,
				Warnings:       warnings.StorageClass,
			},
		},
		{
			Resource: "volumeattachments",
			Object:   &storagev1.VolumeAttachment{}, List: &storagev1.VolumeAttachmentList{},
			Defaults: []Default{
				DefaultOf(defaults.VolumeAttachment),
				DefaultOf(defaults.StorageV1beta1VolumeAttachment),
				DefaultOf(defaults.StorageV1alpha1VolumeAttachment),
			},
			Status:              true,
			StatusKeepsMetadata: true,
			ReturnDeleted:       true,
			ConditionalUpdate:   true,
			Printer:             &printers.VolumeAttachment,
			Hooks: HooksOf[*storagev1.VolumeAttachment]{
				Validate:       validation.VolumeAttachment,
				ValidateUpdate: validation.VolumeAttachmentUpdate,
				// What a driver reports is checked wherever it is written.
				ValidateStatusUpdate: validation.VolumeAttachmentUpdate,
			},
			Gated: []Gate{GateOf[storagev1.VolumeAttachment]("1.35", "MutableCSINodeAllocatableCount",
				"Status.AttachError.ErrorCode", "Status.DetachError.ErrorCode")},
		},
		{
			Resource:   "volumeattributesclasses",
			ShortNames: []string{"vac"},
			Object:     &storagev1.VolumeAttributesClass{}, List: &storagev1.VolumeAttributesClassList{},
			ReturnDeleted: true,
			Printer:       &printers.VolumeAttributesClass,
			Hooks: HooksOf[*storagev1.VolumeAttributesClass]{
				Validate:       validation.VolumeAttributesClass,
				ValidateUpdate: validation.VolumeAttributesClassUpdate,
			},
		},
	},
}
