package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The lengths of an event's fields.
const (
	maxEventField = 128
	maxEventNote  = 1024
)

// Event checks a new event sent as core v1.
func Event(o *corev1.Event) field.ErrorList { return event(o, "reportingComponent") }

// EventUpdate checks an event, sent as core v1, that replaces another.
func EventUpdate(o, _ *corev1.Event) field.ErrorList { return Event(o) }

// EventsEvent checks a new event sent as events.k8s.io/v1, which is stricter (KEP-383).
func EventsEvent(o *corev1.Event) field.ErrorList {
	f := Findings{event(o, "reportingController")}
	f.Merge(Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain).Errs, eventSeries(o))
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

// EventsEventUpdate checks an event, sent as events.k8s.io/v1, that replaces another:
// only its series changes.
func EventsEventUpdate(o, old *corev1.Event) field.ErrorList {
	f := Findings{event(o, "reportingController")}
	f.Merge(Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, eventSeries(o))
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
		{"type", o.Type, old.Type},
		{"eventTime", o.EventTime, old.EventTime},
		{"action", o.Action, old.Action},
		{"related", o.Related, old.Related},
		{"reportingController", o.ReportingController, old.ReportingController},
		{"reportingInstance", o.ReportingInstance, old.ReportingInstance},
	} {
		f.Merge(Unchanged(field.NewPath(kept.name), kept.now, kept.was))
	}
	return f.Errs
}

// event checks what holds in every version; controller is the version's name for
// reportingController.
func event(o *corev1.Event, controller string) field.ErrorList {
	var f Findings
	about := o.InvolvedObject.Namespace
	mismatch := field.Invalid(field.NewPath("involvedObject", "namespace"), about, "does not match event.namespace")
	if o.EventTime.IsZero() {
		// An event about something in no namespace is in none or in the default one.
		f.AddIf(about == "" && o.Namespace != metav1.NamespaceNone && o.Namespace != metav1.NamespaceDefault, mismatch)
		f.AddIf(about != "" && about != o.Namespace, mismatch)
	} else {
		f.AddIf(about == "" && o.Namespace != metav1.NamespaceDefault && o.Namespace != metav1.NamespaceSystem, mismatch)
		path := field.NewPath(controller)
		f.AddIf(o.ReportingController == "", field.Required(path, ""))
		f.Merge(Qualified(path, o.ReportingController))
		for _, text := range []struct {
			name, value string
		}{{"reportingInstance", o.ReportingInstance}, {"action", o.Action}, {"reason", o.Reason}} {
			f.AddIf(text.value == "", field.Required(field.NewPath(text.name), ""))
			f.Merge(shortEnough(field.NewPath(text.name), text.value, maxEventField))
		}
		f.Merge(shortEnough(field.NewPath("message"), o.Message, maxEventNote))
	}
	f.Merge(Follows(utilvalidation.IsDNS1123Subdomain, field.NewPath("namespace"), o.Namespace))
	return f.Errs
}

func shortEnough(path *field.Path, value string, n int) field.ErrorList {
	if len(value) <= n {
		return nil
	}
	return field.ErrorList{field.Invalid(path, "", fmt.Sprintf("can have at most %v characters", n))}
}

func eventSeries(o *corev1.Event) field.ErrorList {
	var f Findings
	if o.Series != nil {
		f.AddIf(o.Series.Count < 2, field.Invalid(field.NewPath("series.count"), "", "should be at least 2"))
		f.AddIf(o.Series.LastObservedTime.IsZero(), field.Required(field.NewPath("series.lastObservedTime"), ""))
	}
	return f.Errs
}
