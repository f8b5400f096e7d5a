package server

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// fieldManager is the name under which the server itself writes, for managed fields.
const fieldManager = "kube-apiserver"

// newCreator returns a creator of what every cluster has, nil if something has been stored, which only
// an embedded etcd can know, or if admission is configured to have a say.
func (s *Server) newCreator(ctx context.Context) (*creator, error) {
	if s.config.member == nil || s.config.options.Admission.ConfigFile != "" {
		return nil, nil
	}
	feed := s.config.member.Feed(corev1.Resource("namespaces"))
	if feed == nil {
		return nil, nil
	}
	namespaces, _, err := feed.List(ctx)
	if err != nil || len(namespaces) > 0 {
		return nil, err
	}
	return &creator{groups: s.groups, member: s.config.member, copied: map[place]bool{}}, nil
}

// seed creates what every cluster has, but for its Service, if nothing has been stored yet. Informers, which
// haven't started, find it in their first lists.
func (s *Server) seed(ctx context.Context) (err error) {
	if s.creator, err = s.newCreator(ctx); s.creator == nil || err != nil {
		return err
	}
	config := s.bootstrap()
	objects, err := bootstrap.Objects(config)
	if err != nil {
		return err
	}
	if err := s.creator.copyAll(ctx, objects); err != nil {
		return err
	}
	return bootstrap.Seed(ctx, s.creator.create, config)
}

// creator creates objects as requests do, managed fields and all, except that it asks
// neither filters nor admission: in a server that nobody has configured yet, these have
// nothing to say about what every cluster has.
type creator struct {
	groups []registry.APIGroup
	member *storage.Member
	// copied are those that needn't be created any more.
	copied map[place]bool

	mu     sync.Mutex
	fields map[managedKind]*managedfields.FieldManager
}

// create creates an object that nobody else has, and leaves the given one as it is.
func (c *creator) create(ctx context.Context, given runtime.Object) error {
	where, err := placeOf(given)
	if err != nil || c.copied[where] {
		return err
	}
	scheme := registry.Scheme()
	kind, plural, name, namespace := where.kind, where.resource(), where.name, where.namespace
	store, err := storageOf[rest.Creater](c.groups, plural, plural.Resource)
	if err != nil {
		return err
	}
	fields, err := c.fieldManager(managedKind{kind, ""}, store)
	if err != nil {
		return err
	}
	live, err := scheme.New(kind)
	if err != nil {
		return err
	}
	obj := given.DeepCopyObject()
	scheme.Default(obj)
	obj = fields.UpdateNoErrors(live, obj, fieldManager)

	if plural == corev1.SchemeGroupVersion.WithResource("namespaces") {
		namespace = name
	}
	ctx = request.WithNamespace(ctx, namespace)
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}})
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: plural.Group, APIVersion: plural.Version, Resource: plural.Resource, Namespace: namespace, Name: name,
	})
	created, err := store.Create(ctx, obj, rest.ValidateAllObjectFunc, &metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil {
		return err
	}
	if updated := created.DeepCopyObject(); copyStatus(given, updated) {
		if created, err = c.updateStatus(ctx, kind, plural, name, created, updated); err != nil {
			return err
		}
	}
	seedCopies.add(where, given, created)
	return nil
}

// updateStatus stores the status of an object that has just been created.
func (c *creator) updateStatus(ctx context.Context, kind schema.GroupVersionKind, gvr schema.GroupVersionResource, name string, live, obj runtime.Object) (runtime.Object, error) {
	store, err := storageOf[rest.Updater](c.groups, gvr, gvr.Resource+"/status")
	if err != nil {
		return nil, err
	}
	fields, err := c.fieldManager(managedKind{kind, "status"}, store)
	if err != nil {
		return nil, err
	}
	obj = fields.UpdateNoErrors(live, obj, fieldManager)
	updated, _, err := store.Update(ctx, name, rest.DefaultUpdatedObjectInfo(obj), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc,
		false, &metav1.UpdateOptions{FieldManager: fieldManager})
	return updated, err
}

// preferredKind is the kind of a type that is a hub.
func preferredKind(obj runtime.Object) (schema.GroupVersionKind, error) {
	kinds, _, err := registry.Scheme().ObjectKinds(obj)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	i := slices.IndexFunc(kinds, func(kind schema.GroupVersionKind) bool { return kind.Version != runtime.APIVersionInternal })
	if i < 0 {
		return schema.GroupVersionKind{}, fmt.Errorf("%T is of no version", obj)
	}
	return kinds[i], nil
}

// storageOf is the storage that serves a path of a resource.
func storageOf[T any](groups []registry.APIGroup, gvr schema.GroupVersionResource, path string) (T, error) {
	for _, group := range groups {
		if group.Name != gvr.Group {
			continue
		}
		if storage, ok := group.Storage[gvr.Version][path].(T); ok {
			return storage, nil
		}
	}
	var none T
	return none, fmt.Errorf("%s of %s isn't served", path, gvr.GroupVersion())
}

// managedKind is a kind, or a subresource of it, whose fields are managed.
type managedKind struct {
	schema.GroupVersionKind
	subresource string
}

func (c *creator) fieldManager(kind managedKind, store any) (*managedfields.FieldManager, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.fields[kind]; m != nil {
		return m, nil
	}
	var filter map[fieldpath.APIVersion]fieldpath.Filter
	if strategy, ok := store.(rest.ResetFieldsStrategy); ok {
		filter = fieldpath.NewExcludeFilterSetMap(strategy.GetResetFields())
	}
	scheme := registry.Scheme()
	m, err := managedfields.NewDefaultFieldManager(typeConverter{}, runtime.UnsafeObjectConvertor(scheme), scheme, scheme,
		kind.GroupVersionKind, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}, kind.subresource, filter)
	if err != nil {
		return nil, err
	}
	if c.fields == nil {
		c.fields = map[managedKind]*managedfields.FieldManager{}
	}
	c.fields[kind] = m
	return m, nil
}
