package registry

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// discovery is where services' endpoints are.
var discovery = Group{
	Name: "discovery.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: discoveryv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: discoveryv1beta1.AddToScheme, OnDemand: true},
	},
	Priority:    16200,
	Conversions: conversion.Discovery(),
	Kinds: []Kind{
		{
			Resource:   "endpointslices",
			Namespaced: true,
			Object:     &discoveryv1.EndpointSlice{}, List: &discoveryv1.EndpointSliceList{},
			Defaults:   []Default{DefaultOf(defaults.EndpointSlice), DefaultOf(defaults.DiscoveryV1beta1EndpointSlice)},
			Generation: true,
			Printer:    &printers.EndpointSlice,
			Hooks:      endpointSliceHooks,
		},
	},
}
