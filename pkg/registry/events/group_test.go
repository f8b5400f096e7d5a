package events

import (
	"testing"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestEventFieldLabels(t *testing.T) {
	t.Parallel()
	kind := eventsv1.SchemeGroupVersion.WithKind("Event")
	registrytest.CheckFieldLabels(t, registrytest.Table(t, core.Group, Group), []registrytest.FieldLabelCase{
		{
			Name: "object", Reason: "events are stored with the field names of the core group",
			Kind: kind, Label: "regarding.name", Want: "involvedObject.name",
		},
		{
			Name: "object in the core group", Reason: "events.k8s.io has other field names than the core group",
			Kind: kind, Label: "involvedObject.name", Err: "field label not supported: involvedObject.name",
		},
	})
}
