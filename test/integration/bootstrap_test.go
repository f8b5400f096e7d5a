package integration_test

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// bootstrapped are the resources of the objects that a server creates at its start, by group version.
var bootstrapped = map[string][]string{
	"v1":                              {"namespaces", "configmaps", "services"},
	"rbac.authorization.k8s.io/v1":    {"clusterroles", "clusterrolebindings", "roles", "rolebindings"},
	"scheduling.k8s.io/v1":            {"priorityclasses"},
	"flowcontrol.apiserver.k8s.io/v1": {"flowschemas", "prioritylevelconfigurations"},
	"networking.k8s.io/v1":            {"servicecidrs", "ipaddresses"},
}

// Every server has the same objects at its start, whether it creates them by requests, stores them directly, or copies
// them from an earlier server of the process. Only values that differ between any two servers, such as UIDs, differ.
func TestEveryClusterHasTheSame(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none.yaml")
	ok(t, os.WriteFile(none, []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: []\n"), 0o600))

	first, uids := whatItHas(t, miniapitest.Start(t))
	for name, srv := range map[string]*miniapitest.Server{
		// If the admission chain has a configuration file, the server creates the objects by requests.
		"by requests": miniapitest.Start(t, inprocess.WithServerOptions(func(o *server.Options) { o.Admission.ConfigFile = none })),
		"copied":      miniapitest.Start(t),
		// The API refuses the endpoints of the service "kubernetes" with this address. The server starts nevertheless,
		// and creates the other objects.
		"one refused": miniapitest.Start(t,
			inprocess.WithServerOptions(func(o *server.Options) { o.ServerRun.AdvertiseAddress = net.IPv4(224, 0, 0, 5) })),
	} {
		other, otherUIDs := whatItHas(t, srv)
		if diff := cmp.Diff(first, other); diff != "" {
			t.Errorf("%s (-first +other):\n%s", name, diff)
		}
		for object, uid := range uids {
			if uid == otherUIDs[object] {
				t.Errorf("%s: %s has the uid of the first server's", name, object)
			}
		}
	}
}

// whatItHas returns the objects that a server has at its start, without the values that differ between servers. It also
// returns their UIDs.
func whatItHas(t *testing.T, srv *miniapitest.Server) (objects map[string]map[string]any, uids map[string]string) {
	t.Helper()
	objects, uids = map[string]map[string]any{}, map[string]string{}
	for _, groupVersion := range slices.Sorted(maps.Keys(bootstrapped)) {
		for _, resource := range bootstrapped[groupVersion] {
			list := must(clusterResources(srv, groupVersion, resource).List(t.Context(), metav1.ListOptions{}))(t)
			if len(list.Items) == 0 {
				t.Errorf("no %s", resource)
			}
			for i := range list.Items {
				object := &list.Items[i]
				key := resource + " " + object.GetNamespace() + "/" + object.GetName()
				uids[key] = string(object.GetUID())
				objects[key] = timeless(t, object)
			}
		}
	}
	return objects, uids
}

// timeless returns an object without the values that differ between any two servers.
func timeless(t *testing.T, object *unstructured.Unstructured) map[string]any {
	t.Helper()
	if created := object.GetCreationTimestamp(); created.IsZero() || object.GetResourceVersion() == "" {
		t.Errorf("%s %s: created %v, at resource version %q", object.GetKind(), object.GetName(), created, object.GetResourceVersion())
	}
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetCreationTimestamp(metav1.Time{})
	managers := object.GetManagedFields()
	for i := range managers {
		if managers[i].Time.IsZero() {
			t.Errorf("%s %s: manager %s has no time", object.GetKind(), object.GetName(), managers[i].Manager)
		}
		managers[i].Time = nil
	}
	object.SetManagedFields(managers)
	switch object.GetName() {
	case "extension-apiserver-authentication": // it has the authorities of one server
		unstructured.RemoveNestedField(object.Object, "data")
	case "kubernetes": // it has the port of one server
		unstructured.RemoveNestedField(object.Object, "spec", "ports")
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		delete(condition.(map[string]any), "lastTransitionTime")
	}
	if len(conditions) > 0 {
		ok(t, unstructured.SetNestedSlice(object.Object, conditions, "status", "conditions"))
	}
	return object.Object
}
