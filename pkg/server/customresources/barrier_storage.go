package customresources

import (
	"context"
	"path"
	"strconv"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"

	ministorage "github.com/miniapi-dev/miniapi/pkg/storage"
)

// withBarrier makes the answers to writes of definitions wait for the barrier.
func withBarrier(b *barrier, inner generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	return &decoratedOptions{inner, func(_ schema.GroupResource, store storage.Interface, destroy factory.DestroyFunc) (storage.Interface, factory.DestroyFunc) {
		return &barredStorage{store, b}, destroy
	}}
}

// barredStorage is the storage of definitions. It delays the answer to a write until the write is in effect. If a
// delete request only begins a deletion, the answer doesn't wait for the end of the deletion.
type barredStorage struct {
	storage.Interface
	barrier *barrier
}

// Watch doesn't use the watch cache for the requests of the server itself. The server has only one informer of
// definitions, so the cache would only delay its events.
func (s *barredStorage) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	if byServer(ctx) {
		ctx = ministorage.WithoutCache(ctx)
	}
	return s.Interface.Watch(ctx, key, opts)
}

// byServer tells whether the server itself makes the request.
func byServer(ctx context.Context) bool {
	u, ok := request.UserFrom(ctx)
	return ok && u.GetName() == user.APIServerUser
}

func (s *barredStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if err := s.Interface.Create(ctx, key, obj, out, ttl); err != nil {
		return err
	}
	m := objectMeta(out)
	s.barrier.created(ctx, m.GetName(), m.GetUID())
	return nil
}

func (s *barredStorage) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) error {
	created := false
	var at uint64
	update := func(existing runtime.Object, stored storage.ResponseMeta) (runtime.Object, *uint64, error) {
		at, created = stored.ResourceVersion, stored.ResourceVersion == 0
		updated, ttl, err := tryUpdate(existing, stored)
		if byServer(ctx) {
			keepEstablished(existing, updated)
		}
		return updated, ttl, err
	}
	if err := s.Interface.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, update, cached); err != nil {
		// After a conflict or a deletion, the controllers get an event of the informer, and check the definition
		// again. After any other error, they may never write the status, so the answer to a client must not wait
		// for the status.
		if byServer(ctx) && at != 0 && !apierrors.IsConflict(err) {
			s.barrier.refused(path.Base(key), strconv.FormatUint(at, 10))
		}
		return err
	}
	m := objectMeta(destination)
	if created { // an apply of a new name creates a definition
		s.barrier.created(ctx, m.GetName(), m.GetUID())
		return nil
	}
	if m.GetDeletionTimestamp() != nil {
		s.barrier.ends(m.GetName(), m.GetResourceVersion())
		return nil
	}
	if byServer(ctx) { // a controller's own write can't wait for the work of the controllers
		s.barrier.updated(ctx, m.GetName(), m.GetResourceVersion())
		return nil
	}
	s.barrier.changed(ctx, m.GetName(), m.GetResourceVersion())
	s.barrier.definitionChanged()
	return nil
}

func (s *barredStorage) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, options storage.DeleteOptions) error {
	if err := s.Interface.Delete(ctx, key, out, preconditions, validate, cached, options); err != nil {
		return err
	}
	m := objectMeta(out)
	// The UID can't identify the deletion: if a restore of a snapshot brings the definition back, it has the same UID.
	s.barrier.updated(ctx, m.GetName(), m.GetResourceVersion())
	return nil
}

// objectMeta returns the metadata of a definition. The storage of definitions has no objects of other types.
func objectMeta(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		return &apiextensions.CustomResourceDefinition{}
	}
	return m
}
