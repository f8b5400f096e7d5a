package customresources

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/storage"
	"github.com/miniapi-dev/miniapi/pkg/storage/informer"
)

// resync is the interval at which client-go's informer of definitions calls its handlers again. The library
// apiextensions-apiserver has the same interval.
const resync = 5 * time.Minute

// newInformers returns a factory with the informer of definitions. If --runtime-config turns the API of definitions
// off, served is false and the informer is empty. With an embedded etcd, the informer takes its events directly from
// etcd, from the feed that the function decoding returns. Handlers that are added before the start of the informer
// are called one after the other, in the order in which they were added.
func newInformers(served bool, client crdclient.Interface, member *storage.Member, decoding func(*storage.Feed) *storage.Feed) crdinformers.SharedInformerFactory {
	factory := crdinformers.NewSharedInformerFactory(client, resync)
	ofClient := crdinformers.NewSharedInformerFactory(client, resync).Apiextensions().V1().CustomResourceDefinitions()
	factory.InformerFor(&apiextensionsv1.CustomResourceDefinition{}, func(crdclient.Interface, time.Duration) cache.SharedIndexInformer {
		switch {
		case !served:
			return informer.Empty(&apiextensionsv1.CustomResourceDefinition{})
		case member == nil:
			return &inOrder{SharedIndexInformer: ofClient.Informer()}
		}
		resource := Definitions.GroupResource()
		return &inOrder{SharedIndexInformer: informer.New(resource, func() *storage.Feed { return decoding(member.Feed(resource)) })}
	})
	return factory
}

// asServed returns the transform function of the informer. The function converts each definition to v1, and calls
// serveAtOnce for it.
func asServed(alone func() bool) cache.TransformFunc {
	return func(obj any) (any, error) {
		// The feed of an embedded etcd may give the internal type.
		if stored, ok := obj.(*apiextensions.CustomResourceDefinition); ok {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(stored, crd, nil); err != nil {
				return nil, err
			}
			obj = crd
		}
		if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
			serveAtOnce(crd, alone)
		}
		return obj, nil
	}
}

// inOrder is an informer that calls the handlers that were added before the start one after the other. Other informers
// call each handler in a goroutine of its own.
type inOrder struct {
	cache.SharedIndexInformer

	mu       sync.Mutex
	started  bool
	handlers []cache.ResourceEventHandler
	all      cache.ResourceEventHandlerRegistration // the registration of the handler that calls all other handlers
}

var errInOrder = errors.New("handlers of the informer of definitions can't be removed")

// AddEventHandlerWithOptions implements cache.SharedInformer. A handler that is added after the start is called in a
// goroutine of its own.
func (i *inOrder) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.started {
		return i.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
	}
	i.handlers = append(i.handlers, handler)
	if i.all != nil {
		return i.all, nil
	}
	var err error
	i.all, err = i.SharedIndexInformer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { i.each(func(h cache.ResourceEventHandler) { h.OnAdd(obj, initial) }) },
		UpdateFunc: func(old, obj any) { i.each(func(h cache.ResourceEventHandler) { h.OnUpdate(old, obj) }) },
		DeleteFunc: func(obj any) { i.each(func(h cache.ResourceEventHandler) { h.OnDelete(obj) }) },
	})
	return i.all, err
}

func (i *inOrder) each(call func(cache.ResourceEventHandler)) {
	i.mu.Lock()
	handlers := slices.Clone(i.handlers)
	i.mu.Unlock()
	for _, handler := range handlers {
		call(handler)
	}
}

// AddEventHandler implements cache.SharedInformer.
func (i *inOrder) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (i *inOrder) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{ResyncPeriod: &period})
}

// RemoveEventHandler implements cache.SharedInformer.
func (i *inOrder) RemoveEventHandler(registration cache.ResourceEventHandlerRegistration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if registration == i.all {
		return errInOrder
	}
	return i.SharedIndexInformer.RemoveEventHandler(registration)
}

// RunWithContext implements cache.SharedInformer.
func (i *inOrder) RunWithContext(ctx context.Context) {
	i.mu.Lock()
	i.started = true
	i.mu.Unlock()
	i.SharedIndexInformer.RunWithContext(ctx)
}

// Run implements cache.SharedInformer.
func (i *inOrder) Run(stop <-chan struct{}) { i.RunWithContext(wait.ContextForChannel(stop)) }
