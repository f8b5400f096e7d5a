package seed

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// FieldManager is the field manager of the server's own writes.
const FieldManager = "kube-apiserver"

// Writer writes objects as requests do, including managed fields, but without the handler chain and admission.
type Writer struct {
	table     *registry.Table
	converter managedfields.TypeConverter
	groups    []registry.APIGroup

	mu     sync.Mutex
	fields map[managedKind]*managedfields.FieldManager
}

// NewWriter returns a writer to the storages of a table's groups.
func NewWriter(table *registry.Table, converter managedfields.TypeConverter, groups []registry.APIGroup) *Writer {
	return &Writer{table: table, converter: converter, groups: groups, fields: map[managedKind]*managedfields.FieldManager{}}
}

// Create creates an object that doesn't exist yet, and returns the stored object. It doesn't change the argument given.
func (c *Writer) Create(ctx context.Context, given runtime.Object, dryRun ...string) (runtime.Object, error) {
	where, err := c.placeOf(given)
	if err != nil {
		return nil, err
	}
	scheme, resource := c.table.Scheme(), where.resource()
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
	created, err := store.Create(ctx, object, rest.ValidateAllObjectFunc, &metav1.CreateOptions{FieldManager: FieldManager, DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	// A create request drops the status. Create returns the object as it is after an update of the status.
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

// Update replaces the live object by updated. It sets the managed fields of updated.
func (c *Writer) Update(ctx context.Context, live, updated runtime.Object) error {
	where, err := c.placeOf(updated)
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
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{FieldManager: FieldManager})
	return err
}

// Delete deletes an object of a kind without namespaces.
func (c *Writer) Delete(ctx context.Context, kind schema.GroupVersionKind, name string) error {
	where := place{kind: kind, name: name}
	resource := where.resource()
	store, err := storageOf[rest.GracefulDeleter](c.groups, resource, resource.Resource)
	if err != nil {
		return err
	}
	_, _, err = store.Delete(asServer(ctx, "delete", where), name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	return err
}

// asServer returns the context of a request that the server itself makes.
func asServer(ctx context.Context, verb string, where place) context.Context {
	resource := where.resource()
	ctx = request.WithNamespace(ctx, where.namespace)
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}})
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
		Namespace: where.namespace, Name: where.name,
	})
}

// managed returns the object with managed fields. In them, FieldManager owns the fields that differ from the live
// object.
func (c *Writer) managed(kind managedKind, store any, live, object runtime.Object) (runtime.Object, error) {
	fields, err := c.fieldManager(kind, store)
	if err != nil {
		return nil, err
	}
	return fields.UpdateNoErrors(live, object, FieldManager), nil
}

// preferredKind returns the first kind of an object's Go type that belongs to a version of an API group.
func (c *Writer) preferredKind(obj runtime.Object) (schema.GroupVersionKind, error) {
	kinds, _, err := c.table.Scheme().ObjectKinds(obj)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	i := slices.IndexFunc(kinds, func(kind schema.GroupVersionKind) bool { return kind.Version != runtime.APIVersionInternal })
	if i < 0 {
		return schema.GroupVersionKind{}, fmt.Errorf("the Go type %T belongs to no version of an API group", obj)
	}
	return kinds[i], nil
}

// storageOf returns the storage that serves a path, such as pods/status, of a resource.
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
	return none, fmt.Errorf("resource %s of %s isn't served", path, gvr.GroupVersion())
}

// managedKind is a kind, or a subresource of a kind, that has managed fields of its own.
type managedKind struct {
	schema.GroupVersionKind
	subresource string
}

func (c *Writer) fieldManager(kind managedKind, store any) (*managedfields.FieldManager, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.fields[kind]; m != nil {
		return m, nil
	}
	var filter map[fieldpath.APIVersion]fieldpath.Filter
	if strategy, ok := store.(rest.ResetFieldsStrategy); ok {
		filter = fieldpath.NewExcludeFilterSetMap(strategy.GetResetFields())
	}
	scheme := c.table.Scheme()
	m, err := managedfields.NewDefaultFieldManager(c.converter, runtime.UnsafeObjectConvertor(scheme), scheme, scheme,
		kind.GroupVersionKind, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}, kind.subresource, filter)
	if err != nil {
		return nil, err
	}
	c.fields[kind] = m
	return m, nil
}

func (c *Writer) placeOf(object runtime.Object) (place, error) {
	kind, err := c.preferredKind(object)
	if err != nil {
		return place{}, err
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return place{}, err
	}
	return place{kind, accessor.GetNamespace(), accessor.GetName()}, nil
}
