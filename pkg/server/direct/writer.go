package direct

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
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Writer writes objects of built-in kinds as requests do, including managed fields, but without the handler chain and
// admission.
type Writer struct {
	table     *registry.Table
	converter managedfields.TypeConverter
	groups    []registry.APIGroup

	mu     sync.Mutex
	fields map[managedKind]*managedfields.FieldManager
}

// New returns a writer to the storages of a table's groups.
func New(table *registry.Table, converter managedfields.TypeConverter, groups []registry.APIGroup) *Writer {
	return &Writer{table: table, converter: converter, groups: groups, fields: map[managedKind]*managedfields.FieldManager{}}
}

// Create creates an object that doesn't exist yet, and returns the created object. If CopyStatus copies the status of
// given, the result has this status, but the stored object doesn't. Create doesn't change given.
func (w *Writer) Create(ctx context.Context, given runtime.Object, dryRun ...string) (runtime.Object, error) {
	where, err := w.PlaceOf(given)
	if err != nil {
		return nil, err
	}
	scheme, resource := w.table.Scheme(), where.Resource()
	store, err := storageOf[rest.Creater](w.groups, resource, resource.Resource)
	if err != nil {
		return nil, err
	}
	live, err := scheme.New(where.Kind)
	if err != nil {
		return nil, err
	}
	object := given.DeepCopyObject()
	scheme.Default(object)
	if object, err = w.managed(managedKind{where.Kind, ""}, store, live, object); err != nil {
		return nil, err
	}

	if resource == corev1.SchemeGroupVersion.WithResource("namespaces") {
		where.Namespace = where.Name
	}
	ctx = where.asServer(ctx, "create")
	created, err := store.Create(ctx, object, rest.ValidateAllObjectFunc, &metav1.CreateOptions{FieldManager: FieldManager, DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	// A create request drops the status. The result is as after an update of the status.
	updated := created.DeepCopyObject()
	if !CopyStatus(given, updated) {
		return created, nil
	}
	status, err := storageOf[rest.Updater](w.groups, resource, resource.Resource+"/status")
	if err != nil {
		return nil, err
	}
	return w.managed(managedKind{where.Kind, "status"}, status, created, updated)
}

// Update replaces the live object by updated. It sets the managed fields of updated.
func (w *Writer) Update(ctx context.Context, live, updated runtime.Object) error {
	where, err := w.PlaceOf(updated)
	if err != nil {
		return err
	}
	resource := where.Resource()
	store, err := storageOf[rest.Updater](w.groups, resource, resource.Resource)
	if err != nil {
		return err
	}
	object, err := w.managed(managedKind{where.Kind, ""}, store, live, updated)
	if err != nil {
		return err
	}
	_, _, err = store.Update(where.asServer(ctx, "update"), where.Name, rest.DefaultUpdatedObjectInfo(object),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{FieldManager: FieldManager})
	return err
}

// Delete deletes an object of a kind without namespaces.
func (w *Writer) Delete(ctx context.Context, kind schema.GroupVersionKind, name string) error {
	where := Place{Kind: kind, Name: name}
	resource := where.Resource()
	store, err := storageOf[rest.GracefulDeleter](w.groups, resource, resource.Resource)
	if err != nil {
		return err
	}
	_, _, err = store.Delete(where.asServer(ctx, "delete"), name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	return err
}

// managed returns the object with managed fields. In them, FieldManager owns the fields that differ from the live
// object.
func (w *Writer) managed(kind managedKind, store any, live, object runtime.Object) (runtime.Object, error) {
	fields, err := w.fieldManager(kind, store)
	if err != nil {
		return nil, err
	}
	return fields.UpdateNoErrors(live, object, FieldManager), nil
}

// preferredKind returns the first kind of an object's Go type that belongs to a version of an API group.
func (w *Writer) preferredKind(obj runtime.Object) (schema.GroupVersionKind, error) {
	kinds, _, err := w.table.Scheme().ObjectKinds(obj)
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

func (w *Writer) fieldManager(kind managedKind, store any) (*managedfields.FieldManager, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.fields[kind]; m != nil {
		return m, nil
	}
	m, err := NewFieldManager(w.table.Scheme(), w.converter, kind.GroupVersionKind, kind.subresource, store)
	if err != nil {
		return nil, err
	}
	w.fields[kind] = m
	return m, nil
}

// PlaceOf returns the place of an object, in the preferred version of its kind.
func (w *Writer) PlaceOf(object runtime.Object) (Place, error) {
	kind, err := w.preferredKind(object)
	if err != nil {
		return Place{}, err
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return Place{}, err
	}
	return Place{kind, accessor.GetNamespace(), accessor.GetName()}, nil
}
