package registry

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
)

// ComputeFunc returns a list with all objects of a kind. It is called for each get and each list, and the caller may
// change the list.
type ComputeFunc func(ctx context.Context) (list runtime.Object, err error)

// computed is the storage of a kind whose objects are computed for each request, and never stored.
type computed struct {
	rest.TableConvertor
	kind *Kind
	list ComputeFunc
}

var (
	_ rest.Getter               = &computed{}
	_ rest.Lister               = &computed{}
	_ rest.Scoper               = &computed{}
	_ rest.SingularNameProvider = &computed{}
	_ rest.ShortNamesProvider   = &computed{}
	_ rest.CategoriesProvider   = &computed{}
)

func (c *computed) New() runtime.Object     { return NewOf(c.kind.Object)() }
func (c *computed) NewList() runtime.Object { return NewOf(c.kind.List)() }
func (c *computed) NamespaceScoped() bool   { return c.kind.Namespaced }
func (c *computed) GetSingularName() string { return c.kind.SingularName() }
func (c *computed) ShortNames() []string    { return c.kind.ShortNames }
func (c *computed) Categories() []string    { return c.kind.Categories }

// Destroy does nothing: nothing is stored.
func (c *computed) Destroy() {}

// List implements rest.Lister.
func (c *computed) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	selected := storage.SelectionPredicate{Label: labels.Everything(), Field: fields.Everything(), GetAttrs: c.kind.Attributes}
	if options != nil && options.LabelSelector != nil {
		selected.Label = options.LabelSelector
	}
	if options != nil && options.FieldSelector != nil {
		selected.Field = options.FieldSelector
	}
	list, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	var items []runtime.Object
	err = meta.EachListItem(list, func(obj runtime.Object) error {
		matches, err := selected.Matches(obj)
		if matches && isIn(obj, genericapirequest.NamespaceValue(ctx)) {
			items = append(items, obj)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, meta.SetList(list, items)
}

// Get implements rest.Getter.
func (c *computed) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	list, err := c.List(ctx, nil)
	if err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	for _, obj := range items {
		if object, err := meta.Accessor(obj); err == nil && object.GetName() == name {
			return obj, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: RequestVersion(ctx).Group, Resource: c.kind.Resource}, name)
}

// isIn reports whether an object is in a namespace. The namespace "" stands for all.
func isIn(obj runtime.Object, namespace string) bool {
	object, err := meta.Accessor(obj)
	return err == nil && (namespace == "" || object.GetNamespace() == namespace)
}
