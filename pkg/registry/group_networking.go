package registry

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// networking is how traffic reaches pods and services.
var networking = Group{
	Name: "networking.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: networkingv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: networkingv1beta1.AddToScheme, OnDemand: true},
	},
	Priority:    17200,
	Conversions: conversion.Ingress(),
	Kinds: []Kind{
		{
			Resource:   "ingresses",
			ShortNames: []string{"ing"},
			Namespaced: true,
			Object:     &networkingv1.Ingress{}, List: &networkingv1.IngressList{},
			Defaults:      []Default{DefaultOf(defaults.NetworkingV1beta1Ingress), DefaultOf(defaults.ExtensionsV1beta1Ingress)},
			StoragePrefix: "ingress",
			Status:        true,
			Generation:    true,
			Printer:       &printers.Ingress,
			Hooks: HooksOf[*networkingv1.Ingress]{
				Validate:             validation.Ingress,
				ValidateUpdate:       validation.IngressUpdate,
				ValidateStatusUpdate: validation.IngressStatusUpdate,
				Warnings:             warnings.Ingress,
				StatusWarnings:       warnings.IngressStatus,
			},
		},
		{
			Resource: "ingressclasses",
			Object:   &networkingv1.IngressClass{}, List: &networkingv1.IngressClassList{},
			Defaults:   []Default{DefaultOf(defaults.IngressClass), DefaultOf(defaults.NetworkingV1beta1IngressClass)},
			Generation: true,
			Printer:    &printers.IngressClass,
			Hooks: HooksOf[*networkingv1.IngressClass]{
				Validate:       validation.IngressClass,
				ValidateUpdate: validation.IngressClassUpdate,
			},
		},
		{
			Resource:   "networkpolicies",
			ShortNames: []string{"netpol"},
			Namespaced: true,
			Object:     &networkingv1.NetworkPolicy{}, List: &networkingv1.NetworkPolicyList{},
			Defaults:   []Default{DefaultOf(defaults.NetworkPolicy), DefaultOf(defaults.ExtensionsV1beta1NetworkPolicy)},
			Generation: true,
			Printer:    &printers.NetworkPolicy,
			Hooks: HooksOf[*networkingv1.NetworkPolicy]{
				Validate:       validation.NetworkPolicy,
				ValidateUpdate: validation.NetworkPolicyUpdate,
				Warnings:       warnings.NetworkPolicy,
			},
		},
		{
			Resource:   "ipaddresses",
			ShortNames: []string{"ip"},
			Object:     &networkingv1.IPAddress{}, List: &networkingv1.IPAddressList{},
			Printer: &printers.IPAddress,
			Hooks: HooksOf[*networkingv1.IPAddress]{
				Validate:       validation.IPAddress,
				ValidateUpdate: validation.IPAddressUpdate,
			},
		},
		{
			Resource: "servicecidrs",
			Object:   &networkingv1.ServiceCIDR{}, List: &networkingv1.ServiceCIDRList{},
			Status:              true,
			StatusKeepsMetadata: true,
			Printer:             &printers.ServiceCIDR,
			Hooks: HooksOf[*networkingv1.ServiceCIDR]{
				Validate:       validation.ServiceCIDR,
				ValidateUpdate: validation.ServiceCIDRUpdate,
			},
		},
	},
}
