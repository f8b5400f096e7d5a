package server

import (
	"context"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/condition"
	ministorage "github.com/miniapi-dev/miniapi/pkg/storage"
)

// crdBarrierTimeout bounds how long the answer to a write of a definition waits for
// its effect. It is far above what the controllers take: to reach it is a bug.
const crdBarrierTimeout = 10 * time.Second

// crdBarrier holds the answer to a write of a CustomResourceDefinition until the next
// request is served by it: the controllers have judged the names, and the resources
// are served and discovered.
type crdBarrier struct {
	following context.Context // see Config
	known     *condition.Variable[knownDefinitions]
	served    servedDefinitions
	// resourcesChanged is called when others are discovered than before, and the answer waits for it.
	resourcesChanged func()
	// definitionChanged is called when requests are served by another definition, and the answer waits for it.
	definitionChanged func()

	cleanup crdCleanup
}

// knownDefinitions is the state that the answer to a write of a definition waits for.
type knownDefinitions struct {
	// seen are the definitions that the informer has shown to every handler.
	seen       map[string]*apiextensionsv1.CustomResourceDefinition
	discovered discoveredResources
	// stuck are the resource versions of definitions of which the controllers could not write the status.
	stuck map[string]string
	// ending are the resource versions at which deletions have begun, until that is seen.
	ending map[string]string
}

// String names the definitions.
func (k knownDefinitions) String() string {
	if len(k.seen) == 0 {
		return "no definition has been seen"
	}
	var known []string
	for name, crd := range k.seen {
		known = append(known, name+" at resourceVersion "+crd.ResourceVersion)
	}
	slices.Sort(known)
	return strings.Join(known, ", ")
}

func newCRDBarrier(following context.Context) *crdBarrier {
	return &crdBarrier{
		following:         following,
		resourcesChanged:  func() {},
		definitionChanged: func() {},
		known: condition.New(knownDefinitions{
			seen:       map[string]*apiextensionsv1.CustomResourceDefinition{},
			discovered: discoveredResources{},
			stuck:      map[string]string{},
			ending:     map[string]string{},
		}),
	}
}

// observe is told what the informer has seen, after everybody else.
func (b *crdBarrier) observe(crd *apiextensionsv1.CustomResourceDefinition, deleted bool) {
	if deleted {
		b.served.forget(crd)
	}
	b.known.Update(func(k *knownDefinitions) {
		if !deleted {
			k.seen[crd.Name] = crd
			return
		}
		delete(k.seen, crd.Name)
		delete(k.stuck, crd.Name)
		// A definition of the same name that follows must be discovered anew.
		for _, v := range crd.Spec.Versions {
			delete(k.discovered[schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}], crd.Spec.Names.Plural)
		}
	})
}

// await waits until the condition holds for a definition.
func (b *crdBarrier) await(name string, holds func(knownDefinitions) bool) {
	ctx, cancel := context.WithTimeout(b.following, crdBarrierTimeout)
	defer cancel()
	if err := b.known.Wait(ctx, holds); err != nil && b.following.Err() == nil {
		klog.ErrorS(err, "a custom resource definition isn't in effect yet", "name", name)
	}
}

// last is the definition as it was last seen, nil if there is none.
func (b *crdBarrier) last(name string) (crd *apiextensionsv1.CustomResourceDefinition) {
	b.known.Read(func(k knownDefinitions) { crd = k.seen[name] })
	return crd
}

// created waits until the definition is in effect, or won't be. The UID tells it from a predecessor that has
// not quite gone; without one, any will do.
func (b *crdBarrier) created(name string, uid types.UID) {
	b.await(name, func(k knownDefinitions) bool {
		crd := k.seen[name]
		return crd != nil && (uid == "" || crd.UID == uid) && (k.isInEffect(crd) || k.isStuck(crd))
	})
}

// definition is the definition by which requests for a kind are served, or will be by the next one; nil if there is
// none. Whoever takes what it says for what requests are answered by must not be ahead of them.
func (b *crdBarrier) definition(kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	crd := b.served.definition(kind)
	b.awaitServed(crd)
	return crd
}

// awaitServed waits until requests are served by a definition, if there is one, or by a later one.
func (b *crdBarrier) awaitServed(crd *apiextensionsv1.CustomResourceDefinition) {
	if crd == nil {
		return
	}
	ctx, cancel := context.WithTimeout(b.following, crdBarrierTimeout)
	defer cancel()
	b.served.await(ctx, crd)
}

// updated waits until requests are served by the definition of that version.
func (b *crdBarrier) updated(name, resourceVersion string) {
	b.await(name, func(k knownDefinitions) bool { return k.isPast(name, resourceVersion) })
	b.awaitServed(b.last(name))
}

// changed waits until the definition as it was last seen is in effect, or won't be, or is gone.
func (b *crdBarrier) changed(name string) {
	b.await(name, func(k knownDefinitions) bool {
		crd := k.seen[name]
		return crd == nil || k.isInEffect(crd) || k.isStuck(crd)
	})
}

// refused notes that the controllers could not write the status of the definition of that version: they try
// again, but nobody knows how long a webhook refuses it.
func (b *crdBarrier) refused(name, resourceVersion string) {
	b.known.Update(func(k *knownDefinitions) { k.stuck[name] = resourceVersion })
}

// ends notes the beginning of a deletion, whose answer doesn't wait: while it did, what the
// controllers then do, and webhooks are asked about, would come before it.
func (b *crdBarrier) ends(name, resourceVersion string) {
	b.known.Update(func(k *knownDefinitions) { k.ending[name] = resourceVersion })
	b.cleanup.begin(name, resourceVersion)
}

// settled is a handler whose requests wait until the deletions before them are in effect: no
// more of what is defined can be created then.
func (b *crdBarrier) settled(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b.settle()
		next.ServeHTTP(w, req)
	})
}

func (b *crdBarrier) settle() {
	var ending map[string]string
	b.known.Read(func(k knownDefinitions) {
		if len(k.ending) > 0 {
			ending = maps.Clone(k.ending)
		}
	})
	for name, resourceVersion := range ending {
		b.updated(name, resourceVersion)
		b.known.Update(func(k *knownDefinitions) {
			if k.ending[name] == resourceVersion {
				delete(k.ending, name)
			}
		})
	}
}

// isPast says that the definition has been seen at the version or a later one, or that it is gone.
func (k knownDefinitions) isPast(name, resourceVersion string) bool {
	crd := k.seen[name]
	if crd == nil {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(crd.ResourceVersion, resourceVersion)
	return err != nil || order >= 0
}

// deleted waits until the deletion of that version has been seen. Who is restored has the UID of who is deleted.
func (b *crdBarrier) deleted(name, resourceVersion string) {
	b.await(name, func(k knownDefinitions) bool { return k.isPast(name, resourceVersion) })
}

// RESTOptionsGetter puts the barrier behind the writes of definitions.
func (b *crdBarrier) RESTOptionsGetter(inner generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	return &decoratedOptions{inner, func(_ schema.GroupResource, store storage.Interface, destroy factory.DestroyFunc) (storage.Interface, factory.DestroyFunc) {
		return &barredStorage{store, b}, destroy
	}}
}

// barredStorage holds each write until it is in effect.
type barredStorage struct {
	storage.Interface
	barrier *crdBarrier
}

// Watch spares the server's own informer, which nobody but this server has, a watch cache.
func (s *barredStorage) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	if byServer(ctx) {
		ctx = ministorage.WithoutCache(ctx)
	}
	return s.Interface.Watch(ctx, key, opts)
}

// byServer says whether a request is the server's own.
func byServer(ctx context.Context) bool {
	u, ok := request.UserFrom(ctx)
	return ok && u.GetName() == user.APIServerUser
}

func (s *barredStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if err := s.Interface.Create(ctx, key, obj, out, ttl); err != nil {
		return err
	}
	m := objectMeta(out)
	s.barrier.created(m.GetName(), m.GetUID())
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
		if byServer(ctx) && at != 0 && !apierrors.IsConflict(err) { // of what has changed or gone, the controllers hear
			s.barrier.refused(path.Base(key), strconv.FormatUint(at, 10))
		}
		return err
	}
	m := objectMeta(destination)
	if created { // by an apply
		s.barrier.created(m.GetName(), m.GetUID())
		return nil
	}
	if m.GetDeletionTimestamp() != nil {
		s.barrier.ends(m.GetName(), m.GetResourceVersion())
		return nil
	}
	s.barrier.updated(m.GetName(), m.GetResourceVersion())
	if !byServer(ctx) { // the controllers can't wait for themselves
		s.barrier.changed(m.GetName())
		s.barrier.definitionChanged()
	}
	return nil
}

func (s *barredStorage) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, options storage.DeleteOptions) error {
	if err := s.Interface.Delete(ctx, key, out, preconditions, validate, cached, options); err != nil {
		return err
	}
	m := objectMeta(out)
	s.barrier.deleted(m.GetName(), m.GetResourceVersion())
	return nil
}

// objectMeta is the metadata of a definition; nothing else comes here.
func objectMeta(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		return &apiextensions.CustomResourceDefinition{}
	}
	return m
}
