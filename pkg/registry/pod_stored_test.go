package registry

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// stored are the rows that pods' subresources need, on an etcd of their own.
type stored struct {
	t      *testing.T
	ctx    context.Context
	stores *Stores
}

func newStored(t *testing.T) stored {
	t.Helper()
	return newStoredWith(t, Dependencies{})
}

func newStoredWith(t *testing.T, deps Dependencies) stored {
	t.Helper()
	member, err := storage.Start(t.Context(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	config := storagebackend.NewDefaultConfig("/registry", storedAs(Builtin(), corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, policyv1.SchemeGroupVersion, discoveryv1.SchemeGroupVersion, schedulingv1.SchemeGroupVersion))
	deps.RESTOptions = member.RESTOptionsGetter(uncached(*config))
	deps.Written = func(schema.GroupResource, runtime.Object) {}
	stores := Builtin().Stores(deps)
	t.Cleanup(func() {
		stores.Destroy()
		if err := member.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return stored{t, genericapirequest.WithNamespace(t.Context(), "ns"), stores}
}

// storedAs is a codec of a table's storage that writes the versions.
func storedAs(table *Table, versions ...schema.GroupVersion) runtime.Codec {
	serializer := table.Serializer()
	json, _ := runtime.SerializerInfoForMediaType(serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	return runtime.NewCodec(serializer.EncoderForVersion(json.Serializer, schema.GroupVersions(versions)),
		serializer.DecoderToVersion(json.Serializer, runtime.InternalGroupVersioner))
}

// uncached is a getter of options for stores without a watch cache.
type uncached storagebackend.Config

func (u uncached) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	config := storagebackend.Config(u)
	return generic.RESTOptions{
		StorageConfig: config.ForResource(resource), Decorator: generic.UndecoratedStorage,
		ResourcePrefix: resource.Resource, EnableGarbageCollection: true, DeleteCollectionWorkers: 1,
	}, nil
}

// store is the store of a row, for objects' status if it has one.
func (s stored) store(resource schema.GroupResource) *Storage {
	s.t.Helper()
	store, err := s.stores.Of(resource)
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

// put creates an object and sets its status.
func (s stored) put(resource schema.GroupResource, obj runtime.Object) runtime.Object {
	s.t.Helper()
	status := obj.DeepCopyObject()
	Builtin().Scheme().Default(obj)
	store := s.store(resource)
	created, err := store.Create(s.ctx, obj, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	updated, _, err := store.With(StatusStrategy{store.Strategy}).Update(s.ctx, MetaOf(created).GetName(),
		rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
			obj := old.DeepCopyObject()
			CopyStatus(obj, status)
			return obj, nil
		}), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return updated
}

func (s stored) pod(name string) (*corev1.Pod, error) {
	return getPod(s.ctx, s.store(corev1.Resource("pods")), name)
}

func (s stored) budget(name string) *policyv1.PodDisruptionBudget {
	s.t.Helper()
	obj, err := s.store(policyv1.Resource("poddisruptionbudgets")).Get(s.ctx, name, &metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return obj.(*policyv1.PodDisruptionBudget)
}

// subresource is what serves a subresource of pods.
func (s stored) subresource(name string) rest.Storage {
	s.t.Helper()
	return s.served(corev1.Resource("pods"), "pods/"+name)
}

// served is what serves a path of a row.
func (s stored) served(resource schema.GroupResource, path string) rest.Storage {
	s.t.Helper()
	served, err := s.stores.Served(resource)
	if err != nil {
		s.t.Fatal(err)
	}
	if served[path] == nil {
		s.t.Fatalf("nothing serves %s", path)
	}
	return served[path]
}
