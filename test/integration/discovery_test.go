package integration_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Of several groups that have a resource of the same name, clients take the one that they
// would in a cluster.
func TestAmbiguousResources(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.Legacy())
	define(t, srv, "networkpolicies", "NetworkPolicy", "v1")
	client, err := discovery.NewDiscoveryClientForConfig(srv.Config())
	ok(t, err)
	groups, err := restmapper.GetAPIGroupResources(client)
	ok(t, err)
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, test := range []struct{ resource, want, reason string }{
		{"deployments", "apps/v1", "extensions has them for old clients"},
		{"ingresses", "networking.k8s.io/v1", "so it has these"},
		{"events", "/v1", "the core group is before all others"},
		{"horizontalpodautoscalers", "autoscaling/v2", "the preferred version isn't the first one"},
		{"networkpolicies", "networking.k8s.io/v1", "custom resources of example.com, before it in the alphabet, don't hide those of Kubernetes"},
	} {
		got, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: test.resource})
		if err != nil || got.Group+"/"+got.Version != test.want {
			t.Errorf("%s are those of %s/%s, %v, want %s: %s", test.resource, got.Group, got.Version, err, test.want, test.reason)
		}
	}
}
