package events

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestConversions(t *testing.T) {
	t.Parallel()
	registrytest.CheckConversions(t, registrytest.Table(t, core.Group, Group), []registrytest.ConversionCase{
		{
			Name:     "to the core group",
			Reason:   "the core group has other names for the fields",
			Manifest: `{apiVersion: events.k8s.io/v1, kind: Event, note: hello, regarding: {name: p}, reportingController: c, eventTime: null, deprecatedCount: 2, deprecatedSource: {host: h}}`,
			To:       &corev1.Event{},
			Path:     "",
			Want:     `{metadata: {}, message: hello, involvedObject: {name: p}, reportingComponent: c, reportingInstance: "", eventTime: null, count: 2, source: {host: h}, firstTimestamp: null, lastTimestamp: null}`,
		},
		{
			Name:     "from the core group",
			Reason:   "events.k8s.io has other names for the fields",
			Manifest: `{apiVersion: v1, kind: Event, message: hello, involvedObject: {name: p}, source: {component: c}, series: {count: 2}}`,
			To:       &eventsv1.Event{},
			Path:     "",
			Want:     `{metadata: {}, note: hello, regarding: {name: p}, deprecatedSource: {component: c}, series: {count: 2, lastObservedTime: null}, eventTime: null, deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null}`,
		},
	})
}
