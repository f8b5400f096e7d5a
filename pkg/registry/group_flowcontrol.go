package registry

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// flowcontrol is how requests share the server.
var flowcontrol = Group{
	Name: "flowcontrol.apiserver.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: flowcontrolv1.AddToScheme},
		{Name: "v1beta3", AddToScheme: flowcontrolv1beta3.AddToScheme, OnDemand: true},
		{Name: "v1beta2", AddToScheme: flowcontrolv1beta2.AddToScheme, OnDemand: true},
		{Name: "v1beta1", AddToScheme: flowcontrolv1beta1.AddToScheme, OnDemand: true},
	},
	Priority:    16100,
	Conversions: conversion.Flowcontrol(),
	Kinds: []Kind{
		{
			Resource: "flowschemas",
			Object:   &flowcontrolv1.FlowSchema{}, List: &flowcontrolv1.FlowSchemaList{},
			Defaults: []Default{
				DefaultOf(defaults.FlowSchema),
				DefaultOf(defaults.FlowcontrolV1beta1FlowSchema),
				DefaultOf(defaults.FlowcontrolV1beta2FlowSchema),
				DefaultOf(defaults.FlowcontrolV1beta3FlowSchema),
			},
			Status:              true,
			StatusKeepsMetadata: true,
			Generation:          true,
			Printer:             &printers.FlowSchema,
			Hooks: HooksOf[*flowcontrolv1.FlowSchema]{
				Validate:             validation.FlowSchema,
				ValidateUpdate:       validation.FlowSchemaUpdate,
				ValidateStatusUpdate: validation.FlowSchemaStatusUpdate,
			},
		},
		{
			Resource: "prioritylevelconfigurations",
			Object:   &flowcontrolv1.PriorityLevelConfiguration{}, List: &flowcontrolv1.PriorityLevelConfigurationList{},
			Defaults: []Default{
				DefaultOf(defaults.PriorityLevelConfiguration),
				DefaultOf(defaults.FlowcontrolV1beta1PriorityLevelConfiguration),
				DefaultOf(defaults.FlowcontrolV1beta2PriorityLevelConfiguration),
				DefaultOf(defaults.FlowcontrolV1beta3PriorityLevelConfiguration),
			},
			Status:              true,
			StatusKeepsMetadata: true,
			Generation:          true,
			Printer:             &printers.PriorityLevelConfiguration,
			Hooks: HooksOf[*flowcontrolv1.PriorityLevelConfiguration]{
				Validate:             validation.PriorityLevelConfiguration,
				ValidateUpdate:       validation.PriorityLevelConfigurationUpdate,
				ValidateStatusUpdate: validation.PriorityLevelConfigurationStatusUpdate,
			},
		},
	},
}
