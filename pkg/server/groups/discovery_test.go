package groups

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// For each version of each built-in group, the discovery document equals the document that k8s.io/apiserver computes
// from the routes of the version.
func TestDiscoveryIsTheLibrarys(t *testing.T) {
	t.Parallel()
	versions := everyVersion(t)
	for _, gv := range []schema.GroupVersion{{Version: "v1"}, {Group: "apps", Version: "v1"}, {Group: "extensions", Version: "v1beta1"}, {Group: "authorization.k8s.io", Version: "v1"}} {
		if versions[gv] == nil {
			t.Errorf("%s is not served", gv)
		}
	}
	for gv, v := range versions {
		t.Run(gv.String(), func(t *testing.T) {
			t.Parallel()
			container := newContainer(v.version.Serializer)
			want, _, err := v.version.InstallREST(container)
			if err != nil {
				t.Fatal(err)
			}
			library := dispatcher{container}
			got, err := v.discovered()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Resources); diff != "" {
				t.Errorf("aggregated: -the library's, +ours:\n%s", diff)
			}
			document, err := v.document()
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct{ name, method, path, accept, reason string }{
				{"document", http.MethodGet, v.root, "", "clients map kinds to resources by the document"},
				{"with a slash", http.MethodGet, v.root + "/", "", "a slash at the end doesn't change the document"},
				{"protobuf", http.MethodGet, v.root, "application/vnd.kubernetes.protobuf", "clients of built-in kinds request protobuf"},
				{"not acceptable", http.MethodGet, v.root, "text/csv", "the document has no form of this media type"},
				{"not to be written", http.MethodPost, v.root, "", "the document is read-only"},
				{"no resource", http.MethodGet, v.root + "/gophers", "", "the version doesn't have the resource"},
				{"no resource of a namespace", http.MethodGet, v.root + "/namespaces/default/gophers/one", "",
					"the version doesn't have the resource"},
				{"no resource to watch", http.MethodGet, v.root + "/watch", "", "the path names no resource"},
			} {
				want, got := answer(t, library, c.method, c.path, c.accept), answer(t, document, c.method, c.path, c.accept)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (%s): -the library's, +ours:\n%s", c.name, c.reason, diff)
				}
			}
		})
	}
}

// everyVersion returns the routes of all group versions, including those that are off by default.
func everyVersion(t *testing.T) map[schema.GroupVersion]*versionRoutes {
	t.Helper()
	table := builtin.Table()
	apis := table.DefaultAPIs()
	apis.EnableVersions(table.Scheme().PrioritizedVersionsAllGroups()...)
	apis.EnableResources(table.LegacyAPIs(version.MustParse("1.37"))...)
	built, err := table.Build(apis, registry.Dependencies{RESTOptions: stored(t, table)})
	if err != nil {
		t.Fatal(err)
	}
	config := genericapiserver.NewConfig(table.Codecs())
	config.Serializer = table.Serializer()
	versions := map[schema.GroupVersion]*versionRoutes{}
	for _, group := range built {
		for _, gv := range group.Versions {
			server := &genericapiserver.GenericAPIServer{EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry()}
			versions[gv] = newVersionRoutes(apiGroupVersion(server, config, table, managedfields.NewDeducedTypeConverter(), group, gv))
		}
		for _, storages := range group.Storage {
			for _, storage := range storages {
				t.Cleanup(storage.Destroy)
			}
		}
	}
	return versions
}

// stored returns storage options for an etcd that ends with the test.
func stored(t *testing.T, table *registry.Table) generic.RESTOptionsGetter {
	t.Helper()
	member, err := storage.Start(t.Context(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := member.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	etcd := genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", nil))
	encoding := serverstorage.NewDefaultResourceEncodingConfig(table.Scheme())
	factory := serverstorage.NewDefaultStorageFactory(etcd.StorageConfig, runtime.ContentTypeProtobuf, table.Serializer(), encoding,
		table.DefaultAPIs(), table.StoragePrefixes())
	return member.RESTOptionsGetter(etcd.CreateRESTOptionsGetter(factory, nil))
}

type answered struct {
	Code   int
	Header http.Header
	Body   string
}

func answer(t *testing.T, handler http.Handler, method, path, accept string) answered {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	return answered{w.Code, w.Header(), w.Body.String()}
}
