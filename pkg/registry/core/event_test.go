package core

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
			Name: "of events.k8s.io", Reason: "an event without a series counts once, at its event time, and its source is the reporting controller",
			Object: &corev1.Event{
				ObjectMeta: registrytest.MonthOld("x"), EventTime: metav1.MicroTime(registrytest.MonthAgo()), ReportingController: "c",
				InvolvedObject: corev1.ObjectReference{Kind: "Node"},
			},
			Want: []any{"30d", "", "", "node", "", "c", "", "30d", int64(1), "x"},
		},
	})
}

func TestEventFieldLabels(t *testing.T) {
	t.Parallel()
	registrytest.CheckFieldLabels(t, registrytest.Table(t, Group), []registrytest.FieldLabelCase{{
		Name: "object", Reason: "events are stored with the field names of the core group",
		Kind: corev1.SchemeGroupVersion.WithKind("Event"), Label: "involvedObject.name", Want: "involvedObject.name",
	}})
}
