package registry

import (
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// policy limits what may be disrupted; evictions are created at pods/eviction.
var policy = Group{
	Name: "policy",
	Versions: []Version{
		{Name: "v1", AddToScheme: policyv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: policyv1beta1.AddToScheme, OnDemand: true},
	},
	Priority:    17100,
	Conversions: conversion.Policy(),
	Kinds: []Kind{
		{
			Resource:   "poddisruptionbudgets",
			ShortNames: []string{"pdb"},
			Namespaced: true,
			Object:     &policyv1.PodDisruptionBudget{}, List: &policyv1.PodDisruptionBudgetList{},
			Defaults:          []Default{DefaultOf(defaults.PodDisruptionBudget)},
			Status:            true,
			Generation:        true,
			ConditionalUpdate: true,
			Printer:           &printers.PodDisruptionBudget,
			Hooks: HooksOf[*policyv1.PodDisruptionBudget]{
				Validate:             validation.PodDisruptionBudget,
				ValidateUpdate:       validation.PodDisruptionBudgetUpdate,
				ValidateStatusUpdate: validation.PodDisruptionBudgetStatusUpdate,
			},
		},
	},
}
