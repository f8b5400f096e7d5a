package registry

import (
	eventsv1 "k8s.io/api/events/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// events serves the events of the core group under their second name and shape.
var events = Group{
	Name: "events.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: eventsv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: eventsv1beta1.AddToScheme, OnDemand: true},
	},
	Priority:    17750,
	Conversions: conversion.Events(),
	Borrowed:    []schema.GroupResource{{Resource: "events"}},
}
