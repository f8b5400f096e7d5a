package openapi

import (
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// TypeConverter is the managedfields.TypeConverter of server-side apply and of managed fields. It makes the converter
// of a kind at its first use, from the definitions of that kind. Making the converters of all kinds would take 140 ms,
// and most kinds are never written.
type TypeConverter struct {
	schemas *Schemas
	// kinds maps a kind to a func() (managedfields.TypeConverter, error), which returns the converter of the kind.
	kinds sync.Map
	// none returns a type converter without types, for objects of kinds without definitions.
	none func() managedfields.TypeConverter
}

var _ managedfields.TypeConverter = &TypeConverter{}

func newTypeConverter(schemas *Schemas) *TypeConverter {
	return &TypeConverter{schemas: schemas, none: sync.OnceValue(func() managedfields.TypeConverter {
		c, err := managedfields.NewTypeConverter(map[string]*spec.Schema{}, false)
		utilruntime.Must(err) // an empty set of definitions can't be wrong
		return c
	})}
}

func (c *TypeConverter) of(gvk schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	once, ok := c.kinds.Load(gvk)
	if !ok {
		once, _ = c.kinds.LoadOrStore(gvk, sync.OnceValues(func() (managedfields.TypeConverter, error) { return c.make(gvk) }))
	}
	return once.(func() (managedfields.TypeConverter, error))()
}

func (c *TypeConverter) make(gvk schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	obj, err := c.schemas.table.Scheme().New(gvk)
	if err != nil {
		return nil, err
	}
	name := util.GetCanonicalTypeName(obj)
	config := c.schemas.v3ConfigOf(func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		return c.schemas.closure(ref, gvk.Group, name)
	})
	if len(config.Definitions) == 0 {
		return c.none(), nil
	}
	schemas, err := builder3.BuildOpenAPIDefinitionsForResources(config, name)
	if err != nil {
		return nil, fmt.Errorf("building the OpenAPI definitions of %s: %w", gvk, err)
	}
	return managedfields.NewTypeConverter(schemas, false)
}

// ObjectToTyped implements managedfields.TypeConverter.
func (c *TypeConverter) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	if !c.schemas.table.Scheme().Recognizes(gvk) {
		return c.none().ObjectToTyped(obj, options...)
	}
	kind, err := c.of(gvk)
	if err != nil {
		return nil, err
	}
	return kind.ObjectToTyped(obj, options...)
}

// Of returns the converter for requests through the versions of a group. As in kube-apiserver, the core group has a
// converter of its own, and all other groups have another. Neither knows a kind of the other side that both sides serve,
// such as Event. So a write through one side drops the managed fields of the other.
func (c *TypeConverter) Of(group string) managedfields.TypeConverter {
	return sideConverter{c, group == corev1.GroupName}
}

// sideConverter is the TypeConverter of the core group, or of all other groups.
type sideConverter struct {
	*TypeConverter
	core bool
}

// ObjectToTyped implements managedfields.TypeConverter.
func (c sideConverter) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	kind := obj.GetObjectKind().GroupVersionKind().GroupKind()
	if c.core != (kind.Group == corev1.GroupName) && c.onBothSides(kind) {
		return c.none().ObjectToTyped(obj, options...)
	}
	return c.TypeConverter.ObjectToTyped(obj, options...)
}

// onBothSides reports whether both the core group and the group of a kind serve the kind.
func (c *TypeConverter) onBothSides(kind schema.GroupKind) bool {
	table := c.schemas.table
	return slices.ContainsFunc(table.Groups(), func(g registry.Group) bool {
		return slices.ContainsFunc(g.Borrowed, func(b schema.GroupResource) bool {
			sides := []string{g.Name, b.Group}
			return slices.Contains(sides, corev1.GroupName) && slices.Contains(sides, kind.Group) && table.Row(b).KindName() == kind.Kind
		})
	})
}

// OfResources returns the converter for mutating policies. As the documents of a group version in kube-apiserver, it has
// the kinds of resources alone. The kinds that only subresources have, such as Scale, Eviction, TokenRequest and
// PodExecOptions, have no type, so a policy's apply configuration fails for them.
func (c *TypeConverter) OfResources() managedfields.TypeConverter { return resourceConverter{c} }

type resourceConverter struct{ *TypeConverter }

// ObjectToTyped implements managedfields.TypeConverter.
func (c resourceConverter) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	if !c.schemas.table.HasKind(obj.GetObjectKind().GroupVersionKind().GroupKind()) {
		return c.none().ObjectToTyped(obj, options...)
	}
	return c.TypeConverter.ObjectToTyped(obj, options...)
}

// TypedToObject implements managedfields.TypeConverter. It doesn't depend on the kind.
func (*TypeConverter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return managedfields.NewDeducedTypeConverter().TypedToObject(value)
}
