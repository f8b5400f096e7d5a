package core

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// EventTTL is the time for which the server keeps events (--event-ttl).
type EventTTL time.Duration

// eventKind is the row of events in the server's table of kinds.
var eventKind = registry.Kind{
	Resource:   "events",
	ShortNames: []string{"ev"},
	Namespaced: true,
	Object:     &corev1.Event{}, List: &corev1.EventList{},
	CreateOnUpdate: true,
	TTL: func(deps registry.Dependencies) uint64 {
		return uint64(time.Duration(registry.PartOf[EventTTL](deps)).Seconds())
	},
	NoDependents: true,
	Printer:      &eventColumns,
	Hooks: registry.HooksOf[*corev1.Event]{
		Validate:       validateEvent,
		ValidateUpdate: validateEventUpdate,
		Through: map[schema.GroupVersion]registry.Validation[*corev1.Event]{
			eventsv1.SchemeGroupVersion:      {Create: validateEventsEvent, Update: validateEventsEventUpdate},
			eventsv1beta1.SchemeGroupVersion: {Create: validateEventsV1beta1Event, Update: validateEventsV1beta1EventUpdate},
		},
	},
	Fields: eventFields,
}

// The limits of an event's text fields, in bytes.
const (
	maxEventField = 128
	maxEventNote  = 1024
)

// validateEvent checks a new event that was sent as core v1.
func validateEvent(o *corev1.Event) field.ErrorList { return event(o, "reportingComponent") }

// validateEventUpdate checks an update of an event that was sent as core v1.
func validateEventUpdate(o, _ *corev1.Event) field.ErrorList { return validateEvent(o) }

// validateEventsV1beta1Event checks a new event that was sent as events.k8s.io/v1beta1. The rules are those of core v1,
// but the field of the controller has another name.
func validateEventsV1beta1Event(o *corev1.Event) field.ErrorList {
	return event(o, "reportingController")
}

// validateEventsV1beta1EventUpdate checks an update of an event that was sent as events.k8s.io/v1beta1.
func validateEventsV1beta1EventUpdate(o, _ *corev1.Event) field.ErrorList {
	return validateEventsV1beta1Event(o)
}

// validateEventsEvent checks a new event that was sent as events.k8s.io/v1, which has stricter rules (KEP-383).
func validateEventsEvent(o *corev1.Event) field.ErrorList {
	f := validation.Findings{Errs: event(o, "reportingController")}
	f.Merge(validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain).Errs, eventSeries(o))
	f.AddIf(o.EventTime.IsZero(), field.Required(field.NewPath("eventTime"), ""))
	f.AddIf(o.Type != corev1.EventTypeNormal && o.Type != corev1.EventTypeWarning,
		field.Invalid(field.NewPath("type"), "", fmt.Sprintf("has invalid value: %v", o.Type)))
	for _, deprecated := range []struct {
		set  bool
		name string
	}{
		{!o.FirstTimestamp.IsZero(), "firstTimestamp"},
		{!o.LastTimestamp.IsZero(), "lastTimestamp"},
		{o.Count != 0, "count"},
		{o.Source != corev1.EventSource{}, "source"},
	} {
		f.AddIf(deprecated.set, field.Invalid(field.NewPath(deprecated.name), "", "needs to be unset"))
	}
	return f.Errs
}

// validateEventsEventUpdate checks an update of an event that was sent as events.k8s.io/v1. Only the series and the
// metadata can change.
func validateEventsEventUpdate(o, old *corev1.Event) field.ErrorList {
	f := validation.Findings{Errs: event(o, "reportingController")}
	f.Merge(validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs)
	// Core v1 doesn't check the series, so a stored series may break the rules.
	if !reflect.DeepEqual(o.Series, old.Series) {
		f.Merge(eventSeries(o))
	}
	for _, kept := range []struct {
		name     string
		now, was any
	}{
		{"involvedObject", o.InvolvedObject, old.InvolvedObject},
		{"reason", o.Reason, old.Reason},
		{"message", o.Message, old.Message},
		{"source", o.Source, old.Source},
		{"firstTimestamp", o.FirstTimestamp, old.FirstTimestamp},
		{"lastTimestamp", o.LastTimestamp, old.LastTimestamp},
		{"count", o.Count, old.Count},
		// As in kube-apiserver, a changed reason causes two errors.
		{"reason", o.Reason, old.Reason},
		{"type", o.Type, old.Type},
		{"eventTime", o.EventTime, old.EventTime},
		{"action", o.Action, old.Action},
		{"related", o.Related, old.Related},
		{"reportingController", o.ReportingController, old.ReportingController},
		{"reportingInstance", o.ReportingInstance, old.ReportingInstance},
	} {
		f.Merge(validation.Unchanged(field.NewPath(kept.name), kept.now, kept.was))
	}
	return f.Errs
}

// event checks the rules of all versions. controller is the name that the request's version has for the field
// reportingController.
func event(o *corev1.Event, controller string) field.ErrorList {
	var f validation.Findings
	about := o.InvolvedObject.Namespace
	mismatch := field.Invalid(field.NewPath("involvedObject", "namespace"), about, "does not match event.namespace")
	if o.EventTime.IsZero() {
		// An event about an object without a namespace must be in no namespace, or in "default".
		f.AddIf(about == "" && o.Namespace != metav1.NamespaceNone && o.Namespace != metav1.NamespaceDefault, mismatch)
		f.AddIf(about != "" && about != o.Namespace, mismatch)
	} else {
		f.AddIf(about == "" && o.Namespace != metav1.NamespaceDefault && o.Namespace != metav1.NamespaceSystem, mismatch)
		path := field.NewPath(controller)
		f.AddIf(o.ReportingController == "", field.Required(path, ""))
		f.Merge(validation.Qualified(path, o.ReportingController))
		for _, text := range []struct {
			name, value string
		}{{"reportingInstance", o.ReportingInstance}, {"action", o.Action}, {"reason", o.Reason}} {
			f.AddIf(text.value == "", field.Required(field.NewPath(text.name), ""))
			f.Merge(shortEnough(field.NewPath(text.name), text.value, maxEventField))
		}
		f.Merge(shortEnough(field.NewPath("message"), o.Message, maxEventNote))
	}
	f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, field.NewPath("namespace"), o.Namespace))
	return f.Errs
}

func shortEnough(path *field.Path, value string, n int) field.ErrorList {
	if len(value) <= n {
		return nil
	}
	return field.ErrorList{field.Invalid(path, "", fmt.Sprintf("can have at most %v characters", n))}
}

func eventSeries(o *corev1.Event) field.ErrorList {
	var f validation.Findings
	if o.Series != nil {
		f.AddIf(o.Series.Count < 2, field.Invalid(field.NewPath("series.count"), "", "should be at least 2"))
		f.AddIf(o.Series.LastObservedTime.IsZero(), field.Required(field.NewPath("series.lastObservedTime"), ""))
	}
	return f.Errs
}

// eventColumns makes the rows of kubectl get. They show the object, the reason and the message. The first column shows
// the time since the event last happened.
var eventColumns = printers.Of(
	[]printers.Column{
		printers.Text("Last Seen", printers.Doc(corev1.Event{}, "lastTimestamp")),
		printers.Text("Type", printers.Doc(corev1.Event{}, "type")),
		printers.Text("Reason", printers.Doc(corev1.Event{}, "reason")),
		printers.Text("Object", printers.Doc(corev1.Event{}, "involvedObject")),
		printers.Wide(printers.Text("Subobject", printers.Doc(corev1.ObjectReference{}, "fieldPath"))),
		printers.Wide(printers.Text("Source", printers.Doc(corev1.Event{}, "source"))),
		printers.Text("Message", printers.Doc(corev1.Event{}, "message")),
		printers.Wide(printers.Text("First Seen", printers.Doc(corev1.Event{}, "firstTimestamp"))),
		printers.Wide(printers.Text("Count", printers.Doc(corev1.Event{}, "count"))),
		printers.Wide(printers.NameColumn),
	},
	func(e *corev1.Event) []any {
		firstSeen, lastSeen, count := occurrences(e)
		object := strings.ToLower(e.InvolvedObject.Kind)
		if e.InvolvedObject.Name != "" {
			object += "/" + e.InvolvedObject.Name
		}
		source := cmp.Or(e.Source.Component, e.ReportingController)
		if instance := cmp.Or(e.Source.Host, e.ReportingInstance); instance != "" {
			source += ", " + instance
		}
		return []any{
			lastSeen, e.Type, e.Reason, object, e.InvolvedObject.FieldPath, source,
			strings.TrimSpace(e.Message), firstSeen, count, e.Name,
		}
	})

// occurrences returns the time since an event first happened, the time since it last happened, and its count. An
// event of events.k8s.io has this data in other fields than an event of the core group.
func occurrences(e *corev1.Event) (firstSeen, lastSeen string, count int64) {
	microsSince := func(t metav1.MicroTime) string { return printers.Since(metav1.Time(t)) }

	firstSeen = printers.Since(e.FirstTimestamp)
	if e.FirstTimestamp.IsZero() {
		firstSeen = microsSince(e.EventTime)
	}
	if e.Series != nil {
		return firstSeen, microsSince(e.Series.LastObservedTime), int64(e.Series.Count)
	}
	lastSeen = firstSeen
	if !e.LastTimestamp.IsZero() {
		lastSeen = printers.Since(e.LastTimestamp)
	}
	// An event of events.k8s.io that happened once has no count.
	return firstSeen, lastSeen, cmp.Or(int64(e.Count), 1)
}

// eventFields are the field selectors of events. They have the names of core v1. events.k8s.io has other names for
// some fields (KEP-383).
var eventFields = registry.FieldsOf[*corev1.Event]{
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
