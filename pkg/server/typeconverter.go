package server

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

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	definitions "github.com/miniapi-dev/miniapi/pkg/registry/openapi"
)

// typeConverter is the managedfields.TypeConverter that server-side apply and the
// tracking of managed fields need, for all servers of the process. What it knows of a
// kind is made at the kind's first use, from the definitions of that kind alone: all of
// them take 140 ms, most of them for kinds that are never written.
type typeConverter struct{}

var _ managedfields.TypeConverter = typeConverter{}

// kindConverters are the type converters by kind: each a func() (managedfields.TypeConverter, error).
// They depend on the types alone.
var kindConverters sync.Map

// noKinds says of every kind that there is no such type.
var noKinds = sync.OnceValue(func() managedfields.TypeConverter {
	c, err := managedfields.NewTypeConverter(map[string]*spec.Schema{}, false)
	utilruntime.Must(err) // there is nothing to be wrong
	return c
})

func kindConverter(gvk schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	once, ok := kindConverters.Load(gvk)
	if !ok {
		once, _ = kindConverters.LoadOrStore(gvk, sync.OnceValues(func() (managedfields.TypeConverter, error) { return newKindConverter(gvk) }))
	}
	return once.(func() (managedfields.TypeConverter, error))()
}

func newKindConverter(gvk schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	obj, err := builtin.Table().Scheme().New(gvk)
	if err != nil {
		return nil, err
	}
	name := util.GetCanonicalTypeName(obj)
	config := openAPIV3ConfigOf(func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		return definitions.Closure(ref, name)
	})
	if len(config.Definitions) == 0 {
		return noKinds(), nil
	}
	schemas, err := builder3.BuildOpenAPIDefinitionsForResources(config, name)
	if err != nil {
		return nil, fmt.Errorf("building the OpenAPI definitions of %s: %w", gvk, err)
	}
	return managedfields.NewTypeConverter(schemas, false)
}

// ObjectToTyped implements managedfields.TypeConverter.
func (typeConverter) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	if !builtin.Table().Scheme().Recognizes(gvk) {
		return noKinds().ObjectToTyped(obj, options...)
	}
	c, err := kindConverter(gvk)
	if err != nil {
		return nil, err
	}
	return c.ObjectToTyped(obj, options...)
}

// TypedToObject implements managedfields.TypeConverter. It is the same for all kinds.
func (typeConverter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return managedfields.NewDeducedTypeConverter().TypedToObject(value)
}
