package registry

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

var eventHooks = HooksOf[*corev1.Event]{
	Validate:       validation.Event,
	ValidateUpdate: validation.EventUpdate,
	Through: map[schema.GroupVersion]Validation[*corev1.Event]{
		eventsv1.SchemeGroupVersion: {Create: validation.EventsEvent, Update: validation.EventsEventUpdate},
	},
}

// eventFields go by the names of core v1, as events are stored; events.k8s.io has
// names of its own for them (KEP-383).
var eventFields = FieldsOf[*corev1.Event]{
	Values: func(e *corev1.Event) fields.Set {
		source := e.Source.Component
		if source == "" {
			source = e.ReportingController
		}
		return fields.Set{
			"involvedObject.kind":            e.InvolvedObject.Kind,
			"involvedObject.namespace":       e.InvolvedObject.Namespace,
			"involvedObject.name":            e.InvolvedObject.Name,
			"involvedObject.uid":             string(e.InvolvedObject.UID),
			"involvedObject.apiVersion":      e.InvolvedObject.APIVersion,
			"involvedObject.resourceVersion": e.InvolvedObject.ResourceVersion,
			"involvedObject.fieldPath":       e.InvolvedObject.FieldPath,
			"reason":                         e.Reason,
			"reportingComponent":             e.ReportingController,
			"source":                         source,
			"type":                           e.Type,
		}
	},
	Names: []string{
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
		"reason", "reportingComponent", "source", "type",
	},
	Through: map[schema.GroupVersion]map[string]string{
		eventsv1.SchemeGroupVersion:      regardingFields,
		eventsv1beta1.SchemeGroupVersion: regardingFields,
	},
}

var regardingFields = map[string]string{
	"regarding.kind":            "involvedObject.kind",
	"regarding.namespace":       "involvedObject.namespace",
	"regarding.name":            "involvedObject.name",
	"regarding.uid":             "involvedObject.uid",
	"regarding.apiVersion":      "involvedObject.apiVersion",
	"regarding.resourceVersion": "involvedObject.resourceVersion",
	"regarding.fieldPath":       "involvedObject.fieldPath",
	"reportingController":       "reportingComponent",
	"reason":                    "reason",
	"type":                      "type",
}
