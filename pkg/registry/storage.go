package registry

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// Storage is the storage of a kind. All kinds use this type.
type Storage struct {
	*genericregistry.Store
	Kind     *Kind
	Strategy Strategy
}

var (
	_ rest.StandardStorage    = &Storage{}
	_ rest.ShortNamesProvider = &Storage{}
	_ rest.CategoriesProvider = &Storage{}
)

// newStorage opens the storage of a kind. All versions of the kind share it.
func newStorage(group string, s Strategy) (*Storage, error) {
	kind, deps := s.Kind, s.deps
	resource := schema.GroupResource{Group: group, Resource: kind.Resource}
	written := func(obj runtime.Object, dryRun []string) {
		if len(dryRun) == 0 {
			deps.Written(resource, obj)
		}
	}
	store := &genericregistry.Store{
		NewFunc:                   NewOf(kind.Object),
		NewListFunc:               NewOf(kind.List),
		DefaultQualifiedResource:  resource,
		SingularQualifiedResource: schema.GroupResource{Group: group, Resource: kind.SingularName()},
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		ReturnDeletedObject:       kind.ReturnDeleted,
		TableConvertor:            printers.TableConvertor(kind.printer()),
		AfterCreate:               func(obj runtime.Object, o *metav1.CreateOptions) { written(obj, o.DryRun) },
		AfterUpdate:               func(obj runtime.Object, o *metav1.UpdateOptions) { written(obj, o.DryRun) },
		AfterDelete:               func(obj runtime.Object, o *metav1.DeleteOptions) { written(obj, o.DryRun) },
	}
	if kind.TTL != nil {
		store.TTLFunc = func(runtime.Object, uint64, bool) (uint64, error) { return kind.TTL(deps), nil }
	}
	options := &generic.StoreOptions{RESTOptions: deps.RESTOptions, AttrFunc: kind.Attributes}
	if err := store.CompleteWithOptions(options); err != nil {
		return nil, fmt.Errorf("opening the storage of %s: %w", resource, err)
	}
	return &Storage{Store: store, Kind: kind, Strategy: s}, nil
}

// ShortNames implements rest.ShortNamesProvider.
func (s *Storage) ShortNames() []string { return s.Kind.ShortNames }

// Categories implements rest.CategoriesProvider.
func (s *Storage) Categories() []string { return s.Kind.Categories }

// Change changes a stored object without the strategy of its kind. It is for subresources whose requests have a kind of
// their own, such as pods/binding. An error about the stored object is one of k8s.io/apimachinery/pkg/api/errors, and an
// error of the function change is returned as it is.
func Change[T runtime.Object](ctx context.Context, s *Storage, name string, preconditions *storage.Preconditions, dryRun []string, change func(T) error) error {
	key, err := s.KeyFunc(ctx, name)
	if err != nil {
		return err
	}
	out := s.New()
	err = s.Storage.GuaranteedUpdate(ctx, key, out, false, preconditions, storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
		o, ok := obj.(T)
		if !ok {
			return nil, fmt.Errorf("stored object %s: want a %T, got %T", key, o, obj)
		}
		return o, change(o)
	}), dryrun.IsDryRun(dryRun), nil)
	if err != nil {
		err = storeerr.InterpretGetError(err, s.DefaultQualifiedResource, name)
		return storeerr.InterpretUpdateError(err, s.DefaultQualifiedResource, name)
	}
	s.AfterUpdate(out, &metav1.UpdateOptions{DryRun: dryRun})
	return nil
}

// UpdateStrategy is the strategy of updates through a subresource. It also lists the fields that a server-side
// apply at the subresource never owns.
type UpdateStrategy interface {
	rest.RESTUpdateStrategy
	rest.ResetFieldsStrategy
}

// With returns the store with another update strategy, for a subresource. Both stores read and write the same
// objects.
func (s *Storage) With(strategy UpdateStrategy) *genericregistry.Store {
	store := *s.Store
	store.UpdateStrategy = strategy
	store.ResetFieldsStrategy = strategy
	return &store
}

// returningDeleted returns the storage with deletions that return the object. Both storages have the same objects.
func (s *Storage) returningDeleted() *Storage {
	store, storage := *s.Store, *s
	store.ReturnDeletedObject = true
	storage.Store = &store
	return &storage
}

// ObjectPart serves get and update of a part of an object, such as the status. Its update strategy ignores changes
// of other parts.
type ObjectPart struct{ store *genericregistry.Store }

// Part returns the storage of a subresource. The argument is the update strategy of the subresource.
func (s *Storage) Part(strategy UpdateStrategy) ObjectPart { return ObjectPart{s.With(strategy)} }

var (
	_ rest.Patcher             = ObjectPart{}
	_ rest.ResetFieldsStrategy = ObjectPart{}
	_ rest.TableConvertor      = ObjectPart{}
)

// newStatus returns the storage of the status subresource.
func newStatus(s *Storage) rest.Storage { return s.Part(StatusStrategy{s.Strategy}) }

// New implements rest.Storage.
func (s ObjectPart) New() runtime.Object { return s.store.New() }

// Destroy does nothing, because the main endpoint destroys the underlying storage.
func (s ObjectPart) Destroy() {}

// Get implements rest.Getter.
func (s ObjectPart) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return s.store.Get(ctx, name, options)
}

// Update implements rest.Updater. It creates a missing object only if the update strategy allows that.
func (s ObjectPart) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return s.store.Update(ctx, name, objInfo, createValidation, updateValidation, false, options)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s ObjectPart) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.store.GetResetFields()
}

// ConvertToTable implements rest.TableConvertor.
func (s ObjectPart) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return s.store.ConvertToTable(ctx, object, options)
}
