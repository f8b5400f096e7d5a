package registry

import (
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
	nodev1beta1 "k8s.io/api/node/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
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
	Priority:    16300,
	Conversions: conversion.Node(),
	Kinds: []Kind{
		{
			Resource: "runtimeclasses",
			Object:   &nodev1.RuntimeClass{}, List: &nodev1.RuntimeClassList{},
			Defaults: []Default{
				DefaultOf(defaults.RuntimeClass),
				DefaultOf(defaults.NodeV1alpha1RuntimeClass),
				DefaultOf(defaults.NodeV1beta1RuntimeClass),
			},
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
