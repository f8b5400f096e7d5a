package integration_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Events have a version in the core group and one in events.k8s.io. A write through one group drops the managed fields of
// the other group, because neither group knows the fields of the other.
func TestManagedFieldsOfEvents(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	core, group := srv.Client().CoreV1().RESTClient(), srv.Client().EventsV1().RESTClient()
	ofCore := func(name string) string {
		return `{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "` + name + `"}, "message": "m", "reason": "r", "type": "Normal",
			"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}`
	}
	ofGroup := func(name string) string {
		return `{"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "` + name + `"}, "note": "n", "reason": "r", "type": "Normal",
			"eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "example.com/c", "reportingInstance": "i", "action": "a",
			"regarding": {"kind": "Pod", "name": "p", "namespace": "default"}}`
	}
	for _, test := range []struct {
		name, reason string
		first, then  rest.Interface
		event        func(name string) string
		want         []string
	}{
		{"both-core", "both managers use the same version", core, core, ofCore, []string{"first v1", "second v1"}},
		{"both-group", "both managers use the same version", group, group, ofGroup,
			[]string{"first events.k8s.io/v1", "second events.k8s.io/v1"}},
		{"group-core", "the fields of the first manager are unknown to core/v1", group, core, ofGroup, []string{"second v1"}},
		{"core-group", "the fields of the first manager are unknown to events.k8s.io/v1", core, group, ofCore,
			[]string{"second events.k8s.io/v1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			write := func(client rest.Interface, patch types.PatchType, manager, body string) metav1.PartialObjectMetadata {
				t.Helper()
				var event metav1.PartialObjectMetadata
				ok(t, client.Patch(patch).Namespace("default").Resource("events").Name(test.name).Param("fieldManager", manager).
					SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").Body([]byte(body)).Do(t.Context()).Into(&event))
				return event
			}
			write(test.first, types.ApplyPatchType, "first", test.event(test.name))
			var got []string
			for _, m := range write(test.then, types.MergePatchType, "second", `{"metadata": {"labels": {"a": "b"}}}`).ManagedFields {
				got = append(got, m.Manager+" "+m.APIVersion)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
