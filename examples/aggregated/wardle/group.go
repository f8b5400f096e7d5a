// Package wardle has the kinds of the example: those of Kubernetes' sample-apiserver, and one that is computed.
package wardle

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/examples/aggregated/wardle/v1alpha1"
	"github.com/miniapi-dev/miniapi/examples/aggregated/wardle/v1beta1"
	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// Group is the API group. Flunders are stored as v1beta1.Flunder, and fischers are in v1alpha1 alone.
var Group = registry.Group{
	Name: "wardle.example.com",
	Versions: []registry.Version{
		{Name: "v1beta1", Types: []runtime.Object{&v1beta1.Flunder{}, &v1beta1.FlunderList{}}},
		{Name: "v1alpha1", Types: []runtime.Object{
			&v1alpha1.Flunder{}, &v1alpha1.FlunderList{}, &v1alpha1.Fischer{}, &v1alpha1.FischerList{},
			&v1alpha1.Catch{}, &v1alpha1.CatchList{},
		}},
	},
	Kinds: []registry.Kind{
		{
			Resource: "flunders", Namespaced: true,
			Object: &v1beta1.Flunder{}, List: &v1beta1.FlunderList{},
			Defaults: []registry.Default{registry.DefaultOf(setDefaults)},
			Hooks:    registry.HooksOf[*v1beta1.Flunder]{Validate: validate},
		},
		{Resource: "fischers", Object: &v1alpha1.Fischer{}, List: &v1alpha1.FischerList{}},
		catches,
	},
	Conversions: conversion.Both(conversion.Adjusted(fromV1alpha1), conversion.Adjusted(toV1alpha1)),
	OpenAPI:     GetOpenAPIDefinitions,
}

// The kinds that a flunder can refer to.
const flunder, fischer = "Flunder", "Fischer"

func setDefaults(f *v1alpha1.Flunder) {
	if f.Spec.Reference != "" {
		f.Spec.ReferenceType = cmp.Or(f.Spec.ReferenceType, flunder)
	}
}

func fromV1alpha1(in *v1alpha1.Flunder, out *v1beta1.Flunder) error {
	switch in.Spec.ReferenceType {
	case flunder:
		out.Spec.FlunderReference = in.Spec.Reference
	case fischer:
		out.Spec.FischerReference = in.Spec.Reference
	}
	return nil
}

func toV1alpha1(in *v1beta1.Flunder, out *v1alpha1.Flunder) error {
	out.Spec.Reference = cmp.Or(in.Spec.FlunderReference, in.Spec.FischerReference)
	return nil
}

func validate(f *v1beta1.Flunder) (errs field.ErrorList) {
	s, flunderPath, fischerPath := f.Spec, field.NewPath("spec", "flunderReference"), field.NewPath("spec", "fischerReference")
	switch {
	case s.FlunderReference != "" && s.FischerReference != "":
		errs = append(errs, field.Invalid(fischerPath, s.FischerReference, "cannot be set with flunderReference at the same time"))
	case s.FlunderReference != "" && s.ReferenceType != flunder:
		errs = append(errs, field.Invalid(flunderPath, s.FlunderReference, "cannot be set if referenceType is not Flunder"))
	case s.FischerReference != "" && s.ReferenceType != fischer:
		errs = append(errs, field.Invalid(fischerPath, s.FischerReference, "cannot be set if referenceType is not Fischer"))
	case s.FischerReference == "" && s.ReferenceType == fischer:
		errs = append(errs, field.Invalid(fischerPath, s.FischerReference, "cannot be empty if referenceType is Fischer"))
	case s.FlunderReference == "" && s.ReferenceType == flunder:
		errs = append(errs, field.Invalid(flunderPath, s.FlunderReference, "cannot be empty if referenceType is Flunder"))
	}
	if s.ReferenceType != "" && s.ReferenceType != flunder && s.ReferenceType != fischer {
		errs = append(errs, field.Invalid(field.NewPath("spec", "referenceType"), s.ReferenceType, "must be Flunder or Fischer"))
	}
	return errs
}
