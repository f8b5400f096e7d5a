package customresources

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// decoratedOptions are storage options. The field "decorate" wraps each store that is made with
// them.
type decoratedOptions struct {
	inner    generic.RESTOptionsGetter
	decorate func(schema.GroupResource, storage.Interface, factory.DestroyFunc) (storage.Interface, factory.DestroyFunc)
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (o *decoratedOptions) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := o.inner.GetRESTOptions(resource, example)
	if err != nil {
		return options, err
	}
	open := options.Decorator
	options.Decorator = func(config *storagebackend.ConfigForResource, prefix string, keyFunc func(runtime.Object) (string, error), newFunc, newListFunc func() runtime.Object,
		attributes storage.AttrFunc, trigger storage.IndexerFuncs, indexers *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
		store, destroy, err := open(config, prefix, keyFunc, newFunc, newListFunc, attributes, trigger, indexers)
		if err != nil {
			return nil, nil, err
		}
		store, destroy = o.decorate(resource, store, destroy)
		return store, destroy, nil
	}
	return options, nil
}
