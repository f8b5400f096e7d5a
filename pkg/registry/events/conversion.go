package events

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// conversions convert events between events.k8s.io and the core group. Events are stored in the form of the core
// group. Some of its fields have names with the prefix "deprecated" in events.k8s.io.
func conversions() []conversion.Function {
	return []conversion.Function{
		conversion.Different(eventToCore),
		conversion.Different(eventFromCore),
		conversion.Different(func(in *eventsv1beta1.Event, out *corev1.Event) error {
			var event eventsv1.Event
			if err := conversion.CopyFields(in, &event); err != nil {
				return err
			}
			return eventToCore(&event, out)
		}),
		conversion.Different(func(in *corev1.Event, out *eventsv1beta1.Event) error {
			var event eventsv1.Event
			if err := eventFromCore(in, &event); err != nil {
				return err
			}
			return conversion.CopyFields(&event, out)
		}),
	}
}

func eventToCore(in *eventsv1.Event, out *corev1.Event) error {
	*out = corev1.Event{
		ObjectMeta:          in.ObjectMeta,
		InvolvedObject:      in.Regarding,
		Reason:              in.Reason,
		Message:             in.Note,
		Source:              in.DeprecatedSource,
		FirstTimestamp:      in.DeprecatedFirstTimestamp,
		LastTimestamp:       in.DeprecatedLastTimestamp,
		Count:               in.DeprecatedCount,
		Type:                in.Type,
		EventTime:           in.EventTime,
		Series:              (*corev1.EventSeries)(in.Series),
		Action:              in.Action,
		Related:             in.Related,
		ReportingController: in.ReportingController,
		ReportingInstance:   in.ReportingInstance,
	}
	return nil
}

func eventFromCore(in *corev1.Event, out *eventsv1.Event) error {
	*out = eventsv1.Event{
		ObjectMeta:               in.ObjectMeta,
		EventTime:                in.EventTime,
		Series:                   (*eventsv1.EventSeries)(in.Series),
		ReportingController:      in.ReportingController,
		ReportingInstance:        in.ReportingInstance,
		Action:                   in.Action,
		Reason:                   in.Reason,
		Regarding:                in.InvolvedObject,
		Related:                  in.Related,
		Note:                     in.Message,
		Type:                     in.Type,
		DeprecatedSource:         in.Source,
		DeprecatedFirstTimestamp: in.FirstTimestamp,
		DeprecatedLastTimestamp:  in.LastTimestamp,
		DeprecatedCount:          in.Count,
	}
	return nil
}
