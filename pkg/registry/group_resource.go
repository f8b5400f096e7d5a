package registry

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// resource is dynamic resource allocation.
var resource = Group{
	Name: "resource.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: resourcev1.AddToScheme},
		{Name: "v1beta2", AddToScheme: resourcev1beta2.AddToScheme, OnDemand: true},
		{Name: "v1beta1", AddToScheme: resourcev1beta1.AddToScheme, OnDemand: true},
		{Name: "v1alpha3", AddToScheme: resourcev1alpha3.AddToScheme, OnDemand: true},
	},
	Priority:    15900,
	Conversions: conversion.Resource(),
	Kinds: []Kind{
		{
			Resource: "deviceclasses",
			Object:   &resourcev1.DeviceClass{}, List: &resourcev1.DeviceClassList{},
			Generation:    true,
			ReturnDeleted: true,
			Printer:       &printers.DeviceClass,
			Hooks: HooksOf[*resourcev1.DeviceClass]{
				Validate:       validation.DeviceClass,
				ValidateUpdate: validation.DeviceClassUpdate,
			},
			Gated: []Gate{GateOf[resourcev1.DeviceClass]("1.36", "DRAExtendedResource", "Spec.ExtendedResourceName")},
		},
		{
			Resource: "devicetaintrules",
			Object:   &resourcev1.DeviceTaintRule{}, List: &resourcev1.DeviceTaintRuleList{},
			Defaults: []Default{
				DefaultOf(defaults.DeviceTaintRule),
				DefaultOf(defaults.ResourceV1beta2DeviceTaintRule),
				DefaultOf(defaults.ResourceV1alpha3DeviceTaintRule),
			},
			Status:              true,
			StatusKeepsMetadata: true,
			Generation:          true,
			ReturnDeleted:       true,
			Printer:             &printers.DeviceTaintRule,
			Hooks: HooksOf[*resourcev1.DeviceTaintRule]{
				PrepareForUpdate:     retaint,
				Validate:             validation.DeviceTaintRule,
				ValidateUpdate:       validation.DeviceTaintRuleUpdate,
				ValidateStatusUpdate: validation.DeviceTaintRuleStatusUpdate,
			},
		},
		{
			Resource:   "resourceclaims",
			Namespaced: true,
			Object:     &resourcev1.ResourceClaim{}, List: &resourcev1.ResourceClaimList{},
			Defaults: []Default{
				DefaultOf(defaults.ResourceClaim),
				DefaultOf(defaults.ResourceV1beta2ResourceClaim),
				DefaultOf(defaults.ResourceV1beta1ResourceClaim),
			},
			Status:              true,
			StatusKeepsMetadata: true,
			ReturnDeleted:       true,
			Printer:             &printers.ResourceClaim,
			Hooks:               resourceClaimHooks,
			Gated: []Gate{
				GateOf[resourcev1.ResourceClaim]("1.36", "DRADeviceTaints", ofRequests("Spec", "Tolerations")...),
				GateOf[resourcev1.ResourceClaim]("1.36", "DRAConsumableCapacity",
					append(ofRequests("Spec", "Capacity"), "Spec.Devices.Constraints.DistinctAttribute")...),
				GateOf[resourcev1.ResourceClaim]("1.36", "DRAConsumableCapacity",
					"Status.Allocation.Devices.Results.ShareID", "Status.Allocation.Devices.Results.ConsumedCapacity", "Status.Devices.ShareID"),
				GateOf[resourcev1.ResourceClaim]("1.36", "DRADeviceBindingConditions",
					"Status.Allocation.Devices.Results.BindingConditions", "Status.Allocation.Devices.Results.BindingFailureConditions"),
			},
		},
		{
			Resource:   "resourceclaimtemplates",
			Namespaced: true,
			Object:     &resourcev1.ResourceClaimTemplate{}, List: &resourcev1.ResourceClaimTemplateList{},
			Defaults: []Default{
				DefaultOf(defaults.ResourceClaimTemplate),
				DefaultOf(defaults.ResourceV1beta2ResourceClaimTemplate),
				DefaultOf(defaults.ResourceV1beta1ResourceClaimTemplate),
			},
			ReturnDeleted: true,
			Printer:       &printers.ResourceClaimTemplate,
			Hooks:         resourceClaimTemplateHooks,
			Gated: []Gate{
				GateOf[resourcev1.ResourceClaimTemplate]("1.36", "DRADeviceTaints", ofRequests("Spec.Spec", "Tolerations")...),
				GateOf[resourcev1.ResourceClaimTemplate]("1.36", "DRAConsumableCapacity",
					append(ofRequests("Spec.Spec", "Capacity"), "Spec.Spec.Devices.Constraints.DistinctAttribute")...),
			},
		},
		{
			Resource: "resourceslices",
			Object:   &resourcev1.ResourceSlice{}, List: &resourcev1.ResourceSliceList{},
			Defaults: []Default{
				DefaultOf(defaults.ResourceSlice),
				DefaultOf(defaults.ResourceV1beta2ResourceSlice),
				DefaultOf(defaults.ResourceV1beta1ResourceSlice),
			},
			Generation:    true,
			ReturnDeleted: true,
			Printer:       &printers.ResourceSlice,
			Hooks: HooksOf[*resourcev1.ResourceSlice]{
				Validate:       validation.ResourceSlice,
				ValidateUpdate: validation.ResourceSliceUpdate,
				Warnings:       warnings.ResourceSlice,
			},
			Fields: resourceSliceFields,
			Gated: []Gate{
				GateOf[resourcev1.ResourceSlice]("1.36", "DRADeviceTaints", "Spec.Devices.Taints"),
				GateOf[resourcev1.ResourceSlice]("1.36", "DRAPartitionableDevices", "Spec.SharedCounters", "Spec.PerDeviceNodeSelection",
					"Spec.Devices.ConsumesCounters", "Spec.Devices.NodeName", "Spec.Devices.NodeSelector", "Spec.Devices.AllNodes"),
				GateOf[resourcev1.ResourceSlice]("1.36", "DRADeviceBindingConditions",
					"Spec.Devices.BindingConditions", "Spec.Devices.BindingFailureConditions", "Spec.Devices.BindsToNode"),
				GateOf[resourcev1.ResourceSlice]("1.36", "DRAConsumableCapacity",
					"Spec.Devices.AllowMultipleAllocations", "Spec.Devices.Capacity.RequestPolicy"),
			},
		},
	},
}
