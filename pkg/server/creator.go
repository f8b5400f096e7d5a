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
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// fieldManager is the name under which the server itself writes, for managed fields.
const fieldManager = "kube-apiserver"

// creator creates objects as requests do, managed fields and all, except that it asks
// neither filters nor admission: in a server that nobody has configured yet, these have
// nothing to say about what every cluster has. It leaves the objects that it is given as they are.
type creator struct {
	groups []registry.APIGroup
	member *storage.Member

	mu     sync.Mutex
	fields map[managedKind]*managedfields.FieldManager
}

func newCreator(groups []registry.APIGroup, member *storage.Member) *creator {
	return &creator{groups: groups, member: member, fields: map[managedKind]*managedfields.FieldManager{}}
}

// record returns an object as it would be stored: as another server has made it, or else as a dry run makes it.
func (c *creator) record(ctx context.Context, given runtime.Object) (storage.Record, error) {
	where, err := placeOf(given)
	if err != nil {
		return storage.Record{}, err
	}
	resource := where.resource()
	feed := c.member.Feed(resource.GroupResource())
	if feed == nil {
		return storage.Record{}, fmt.Errorf("%s aren't stored", resource.GroupResource())
	}
	object := seedCopies.get(where, given)
	if object == nil {
		if object, err = c.create(ctx, given, metav1.DryRunAll); err != nil {
			return storage.Record{}, fmt.Errorf("%s %s: %w", where.kind.Kind, where.name, err)
		}
		seedCopies.add(where, given, object)
	}
	return feed.Record(ctx, where.namespace, where.name, object)
}

// create creates an object that nobody else has.
func (c *creator) create(ctx context.Context, given runtime.Object, dryRun ...string) (runtime.Object, error) {
	where, err := placeOf(given)
	if err != nil {
		return nil, err
	}
	scheme, resource := builtin.Table().Scheme(), where.resource()
	store, err := storageOf[rest.Creater](c.groups, resource, resource.Resource)
	if err != nil {
		return nil, err
	}
	live, err := scheme.New(where.kind)
	if err != nil {
		return nil, err
	}
	object := given.DeepCopyObject()
	scheme.Default(object)
	if object, err = c.managed(managedKind{where.kind, ""}, store, live, object); err != nil {
		return nil, err
	}

	if resource == corev1.SchemeGroupVersion.WithResource("namespaces") {
		where.namespace = where.name
	}
	ctx = asServer(ctx, "create", where)
	created, err := store.Create(ctx, object, rest.ValidateAllObjectFunc, &metav1.CreateOptions{FieldManager: fieldManager, DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	// A creation doesn't keep the status.
	updated := created.DeepCopyObject()
	if !copyStatus(given, updated) {
		return created, nil
	}
	status, err := storageOf[rest.Updater](c.groups, resource, resource.Resource+"/status")
	if err != nil {
		return nil, err
	}
	return c.managed(managedKind{where.kind, "status"}, status, created, updated)
}

// update replaces a live object, past the same as create.
func (c *creator) update(ctx context.Context, live, updated runtime.Object) error {
	where, err := placeOf(updated)
	if err != nil {
		return err
	}
	resource := where.resource()
	store, err := storageOf[rest.Updater](c.groups, resource, resource.Resource)
	if err != nil {
		return err
	}
	object, err := c.managed(managedKind{where.kind, ""}, store, live, updated)
	if err != nil {
		return err
	}
	_, _, err = store.Update(asServer(ctx, "update", where), where.name, rest.DefaultUpdatedObjectInfo(object),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}

// asServer is the context of a request of the server itself.
func asServer(ctx context.Context, verb string, where place) context.Context {
	resource := where.resource()
	ctx = request.WithNamespace(ctx, where.namespace)
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}})
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
		Namespace: where.namespace, Name: where.name,
	})
}

// managed returns an object with the fields that it has and the live one hadn't as the server's own.
func (c *creator) managed(kind managedKind, store any, live, object runtime.Object) (runtime.Object, error) {
	fields, err := c.fieldManager(kind, store)
	if err != nil {
		return nil, err
	}
	return fields.UpdateNoErrors(live, object, fieldManager), nil
}

// preferredKind is the kind of a type that is a hub.
func preferredKind(obj runtime.Object) (schema.GroupVersionKind, error) {
	kinds, _, err := builtin.Table().Scheme().ObjectKinds(obj)
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
	scheme := builtin.Table().Scheme()
	m, err := managedfields.NewDefaultFieldManager(schemas().TypeConverter(), runtime.UnsafeObjectConvertor(scheme), scheme, scheme,
		kind.GroupVersionKind, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}, kind.subresource, filter)
	if err != nil {
		return nil, err
	}
	c.fields[kind] = m
	return m, nil
}
