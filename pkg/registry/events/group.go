// Package events has the kinds of API group events.k8s.io, which serves the events of the core group under a second
// name and in a second form.
package events

import (
	eventsv1 "k8s.io/api/events/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Group is the API group events.k8s.io. It serves the events of the core group under a second name and in a second
// form.
var Group = registry.Group{
	Name: "events.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: eventsv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: eventsv1beta1.AddToScheme, OnDemand: true, Priority: 5},
	},
	Priority:    17750,
	Conversions: conversions(),
	Borrowed:    []schema.GroupResource{{Resource: "events"}},
}
