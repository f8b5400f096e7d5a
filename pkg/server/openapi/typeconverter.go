package openapi

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	definitions "github.com/miniapi-dev/miniapi/pkg/registry/openapi"
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
		return definitions.Closure(ref, name)
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

// TypedToObject implements managedfields.TypeConverter. It doesn't depend on the kind.
func (*TypeConverter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return managedfields.NewDeducedTypeConverter().TypedToObject(value)
}
