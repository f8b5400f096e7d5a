package core

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestEventColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "with a count", Reason: "count and times are fields of the event",
			Object: &corev1.Event{
				ObjectMeta: registrytest.MonthOld("x"), Type: "Warning", Reason: "BackOff", Message: " text\n", Count: 4,
				FirstTimestamp: registrytest.MonthAgo(), LastTimestamp: metav1.NewTime(time.Now().Add(-48 * 24 * time.Hour)),
				InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p", FieldPath: "spec"},
				Source:         corev1.EventSource{Component: "kubelet", Host: "n"},
			},
			Want: []any{"48d", "Warning", "BackOff", "pod/p", "spec", "kubelet, n", "text", "30d", int64(4), "x"},
		},
		{
			Name:   "of events.k8s.io",
			Reason: "an event without a series counts once, at its event time, and its source is the reporting controller",
			Object: &corev1.Event{
				ObjectMeta: registrytest.MonthOld("x"), EventTime: metav1.MicroTime(registrytest.MonthAgo()), ReportingController: "c",
				InvolvedObject: corev1.ObjectReference{Kind: "Node"},
			},
			Want: []any{"30d", "", "", "node", "", "c", "", "30d", int64(1), "x"},
		},
	})
}

func TestEventErrors(t *testing.T) {
	t.Parallel()
	build := func(change func(*corev1.Event)) *corev1.Event {
		e := &corev1.Event{
			ObjectMeta: registrytest.Stored("e"), EventTime: metav1.MicroTime(metav1.Unix(1, 0)), Type: corev1.EventTypeNormal,
			InvolvedObject:      corev1.ObjectReference{Namespace: "default"},
			ReportingController: "example.com/c", ReportingInstance: "i", Action: "a", Reason: "r",
		}
		change(e)
		return e
	}
	once := func(e *corev1.Event) { e.Series = &corev1.EventSeries{Count: 1, LastObservedTime: e.EventTime} }
	const tooFew = `series.count: Invalid value: "": should be at least 2`
	for _, test := range []struct {
		name, reason string
		errs         field.ErrorList
		want         []string
	}{
		{
			name: "stored series", reason: "core v1 accepts any series, and an update through events.k8s.io/v1 can keep the series",
			errs: validateEventsEventUpdate(build(once), build(once)),
		},
		{
			name: "new series", reason: "an update through events.k8s.io/v1 can't set an invalid series",
			errs: validateEventsEventUpdate(build(once), build(func(*corev1.Event) {})), want: []string{tooFew},
		},
		{
			name: "another reason", reason: "as in kube-apiserver, the error is listed twice",
			errs: validateEventsEventUpdate(build(func(e *corev1.Event) { e.Reason = "other" }), build(func(*corev1.Event) {})),
			want: []string{`reason: Invalid value: "other": field is immutable`, `reason: Invalid value: "other": field is immutable`},
		},
		{
			name: "v1beta1", reason: "the error has the name that events.k8s.io/v1beta1 has for the field",
			errs: eventKind.Hooks.(registry.HooksOf[*corev1.Event]).Through[eventsv1beta1.SchemeGroupVersion].Create(
				build(func(e *corev1.Event) { e.ReportingController = "" })),
			want: []string{
				"reportingController: Required value",
				`reportingController: Invalid value: "": name part must be non-empty`,
				`reportingController: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
					`(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, test.reason, test.errs, test.want...)
		})
	}
}

func TestEventFieldLabels(t *testing.T) {
	t.Parallel()
	registrytest.CheckFieldLabels(t, registrytest.Table(t, Group), []registrytest.FieldLabelCase{{
		Name: "object", Reason: "events are stored with the field names of the core group",
		Kind: corev1.SchemeGroupVersion.WithKind("Event"), Label: "involvedObject.name", Want: "involvedObject.name",
	}})
}
