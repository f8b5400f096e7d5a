package builtin_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

func TestDefaultGarbageCollectionPolicy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason    string
		group, resource string
		through         schema.GroupVersion
		want            rest.GarbageCollectionPolicy
	}{
		{
			name: "deployment", reason: "apps/v1 deletes dependents by default",
			group: "apps", resource: "deployments", through: schema.GroupVersion{Group: "apps", Version: "v1"},
			want: rest.DeleteDependents,
		},
		{
			name: "deployment of extensions/v1beta1", reason: "clients of old versions delete dependents themselves",
			group: "apps", resource: "deployments", through: schema.GroupVersion{Group: "extensions", Version: "v1beta1"},
			want: rest.OrphanDependents,
		},
		{
			name: "job", reason: "clients of batch/v1 delete dependents themselves",
			group: "batch", resource: "jobs", through: schema.GroupVersion{Group: "batch", Version: "v1"},
			want: rest.OrphanDependents,
		},
		{
			name: "event", reason: "an event has no dependents",
			resource: "events", through: schema.GroupVersion{Version: "v1"},
			want: rest.Unsupported,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := builtin.Table().Strategy(row(t, test.group, test.resource), registry.Dependencies{}).DefaultGarbageCollectionPolicy(through(test.through))
			if got != test.want {
				t.Errorf("%v, want %v: %s", got, test.want, test.reason)
			}
		})
	}
}
