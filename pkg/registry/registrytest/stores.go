// Package registrytest has helpers for tests of kinds: storages on an etcd of their own, comparisons of objects
// with test cases, and parts of objects.
//
// Don't use the package to test a server: package miniapitest starts a server for a test.
package registrytest

import (
	"context"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// Stores are the storages of the kinds in a table. Parallel tests may share them.
type Stores struct {
	// Context is the context of a request in the namespace "ns".
	Context context.Context

	t       *testing.T
	table   *registry.Table
	opening *sync.Mutex // held while a storage is opened
	stores  *registry.Stores
}

// Start starts an etcd, which several servers of a test may share. It stops with the test.
func Start(t *testing.T) *storage.Member {
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
	return member
}

// New returns the storages of a table, on an etcd of their own.
func New(t *testing.T, table *registry.Table, deps registry.Dependencies) Stores {
	t.Helper()
	return On(t, Start(t), table, deps)
}

// On returns the storages of a table on the etcd "member". It sets deps.RESTOptions and deps.Written.
func On(t *testing.T, member *storage.Member, table *registry.Table, deps registry.Dependencies) Stores {
	t.Helper()
	deps.RESTOptions = RESTOptions(member, table)
	deps.Written = func(schema.GroupResource, runtime.Object) {}
	stores := table.Stores(deps)
	t.Cleanup(stores.Destroy)
	return Stores{Context: genericapirequest.WithNamespace(t.Context(), "ns"), t: t, table: table, opening: &sync.Mutex{}, stores: stores}
}

// RESTOptions returns the storage options of a table's resources on the etcd "member". There are no watch caches.
func RESTOptions(member *storage.Member, table *registry.Table) generic.RESTOptionsGetter {
	return member.RESTOptionsGetter(uncached(*storagebackend.NewDefaultConfig("/registry", codec(table))))
}

// codec returns the codec with which the objects are stored. It writes JSON, in the preferred version of each kind.
func codec(table *registry.Table) runtime.Codec {
	serializer := table.Serializer()
	json, _ := runtime.SerializerInfoForMediaType(serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	return runtime.NewCodec(serializer.EncoderForVersion(json.Serializer, schema.GroupVersions(table.Scheme().PrioritizedVersionsAllGroups())),
		serializer.DecoderToVersion(json.Serializer, runtime.InternalGroupVersioner))
}

// uncached has the options of stores without watch caches.
type uncached storagebackend.Config

// GetRESTOptions implements generic.RESTOptionsGetter.
func (u uncached) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	config := storagebackend.Config(u)
	return generic.RESTOptions{
		StorageConfig: config.ForResource(resource), Decorator: generic.UndecoratedStorage,
		ResourcePrefix: resource.Resource, EnableGarbageCollection: true, DeleteCollectionWorkers: 1,
	}, nil
}

// Store returns the store of a resource.
func (s Stores) Store(resource schema.GroupResource) *registry.Storage {
	s.t.Helper()
	s.opening.Lock()
	defer s.opening.Unlock()
	store, err := s.stores.Of(resource)
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

// Storage returns the storage of a resource or a subresource, by its path, such as "pods/eviction".
func (s Stores) Storage(resource schema.GroupResource, path string) rest.Storage {
	s.t.Helper()
	s.opening.Lock()
	defer s.opening.Unlock()
	served, err := s.stores.Served(resource)
	if err != nil {
		s.t.Fatal(err)
	}
	if served[path] == nil {
		s.t.Fatalf("nothing serves %s", path)
	}
	return served[path]
}

// Put sets the defaults of an object and creates it. If the kind has a status subresource, Put also sets the
// status.
func (s Stores) Put(resource schema.GroupResource, obj runtime.Object) runtime.Object {
	s.t.Helper()
	status := obj.DeepCopyObject()
	s.table.Scheme().Default(obj)
	store := s.Store(resource)
	created, err := store.Create(s.Context, obj, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	if !s.table.Row(resource).Status {
		return created
	}
	m, err := meta.Accessor(created)
	if err != nil {
		s.t.Fatal(err)
	}
	updated, _, err := s.Storage(resource, resource.Resource+"/status").(rest.Updater).Update(s.Context, m.GetName(),
		rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
			obj := old.DeepCopyObject()
			registry.CopyStatus(obj, status)
			return obj, nil
		}), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return updated
}
