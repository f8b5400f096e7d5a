package discovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/client"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/registry"
)

// Defaults of the options.
const (
	DefaultPeriod       = 10 * time.Minute
	DefaultFirstBackoff = 100 * time.Millisecond
	DefaultLastBackoff  = time.Minute
)

// workers is how many extensions are asked at a time. One that hangs doesn't hold up the others.
const workers = 4

// Options are what a controller needs.
type Options struct {
	// Catalog has the hooks, and says which are deprecated.
	Catalog *catalog.Catalog
	// Client asks extensions.
	Client *client.Client
	// Registry is filled.
	Registry *registry.Registry
	// Dynamic reads and writes ExtensionConfigs.
	Dynamic dynamic.Interface
	// Kubernetes reads the Secrets that have the caBundles of ExtensionConfigs.
	Kubernetes kubernetes.Interface
	// Period is the time until an extension that was discovered is asked again: DefaultPeriod, unless it is set.
	Period time.Duration
	// FirstBackoff and LastBackoff bound the time until an extension is asked again after an error, which doubles with
	// each error: DefaultFirstBackoff and DefaultLastBackoff, unless they are set.
	FirstBackoff, LastBackoff time.Duration
}

// Controller discovers extensions.
type Controller struct {
	options Options
	queue   workqueue.TypedRateLimitingInterface[string] // of names
	configs cache.SharedIndexInformer
	secrets *secrets

	// synced is closed when the ExtensionConfigs that there are have been listed.
	synced chan struct{}

	mu sync.Mutex
	// initial are the names of those, which the registry must have before it is ready.
	initial []string
	// warming has the ExtensionConfigs that have been discovered before the registry is ready. It is nil afterwards.
	warming map[string]*runtimev1.ExtensionConfig
}

// New returns a controller that Run starts.
func New(options Options) (*Controller, error) {
	var errs []error
	for name, missing := range map[string]bool{
		"Catalog": options.Catalog == nil, "Client": options.Client == nil, "Registry": options.Registry == nil,
		"Dynamic": options.Dynamic == nil, "Kubernetes": options.Kubernetes == nil,
	} {
		if missing {
			errs = append(errs, fmt.Errorf("a controller of ExtensionConfigs needs the option %s", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	setDefault(&options.Period, DefaultPeriod)
	setDefault(&options.FirstBackoff, DefaultFirstBackoff)
	setDefault(&options.LastBackoff, DefaultLastBackoff)
	c := &Controller{
		options: options,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](options.FirstBackoff, options.LastBackoff)),
		configs: dynamicinformer.NewFilteredDynamicInformer(options.Dynamic, runtimev1.Resource(), "", 0, cache.Indexers{}, nil).Informer(),
		synced:  make(chan struct{}),
		warming: map[string]*runtimev1.ExtensionConfig{},
	}
	c.secrets = newSecrets(options.Kubernetes, c.queue.Add)
	_, err := c.configs.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { c.enqueue(obj) },
		UpdateFunc: func(was, is any) {
			if changed(was.(*unstructured.Unstructured), is.(*unstructured.Unstructured)) {
				c.enqueue(is)
			}
		},
		DeleteFunc: func(obj any) { c.enqueue(obj) },
	})
	return c, err
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// changed tells whether an ExtensionConfig differs in anything but its status, which the controller writes itself.
func changed(was, is *unstructured.Unstructured) bool {
	return was.GetGeneration() != is.GetGeneration() || !maps.Equal(was.GetAnnotations(), is.GetAnnotations()) ||
		was.GetUID() != is.GetUID() || (was.GetDeletionTimestamp() == nil) != (is.GetDeletionTimestamp() == nil)
}

// enqueue queues an ExtensionConfig for discovery at once. The backoff of earlier errors ends, because the configuration has
// changed.
func (c *Controller) enqueue(obj any) {
	name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return // it is of another type, which the informer doesn't have
	}
	c.queue.Forget(name)
	c.queue.Add(name)
}

// Run discovers extensions until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer c.secrets.running.Wait() // the workers start these, and have ended by then
	var running sync.WaitGroup
	defer running.Wait()
	defer c.queue.ShutDown()
	defer stop()
	running.Go(func() { c.configs.RunWithContext(ctx) })
	select {
	case <-c.configs.HasSyncedChecker().Done():
	case <-ctx.Done():
		return fmt.Errorf("listing ExtensionConfigs: %w", context.Cause(ctx))
	}
	c.mu.Lock()
	c.initial = c.configs.GetStore().ListKeys()
	c.mu.Unlock()
	if err := c.warmUp(); err != nil { // there may be none
		return err
	}
	close(c.synced)
	for range workers {
		running.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	return nil
}

// Synced is closed when Run has listed the ExtensionConfigs that there are. The registry isn't ready before all of these
// are discovered. It doesn't wait for later ones.
func (c *Controller) Synced() <-chan struct{} { return c.synced }

// next handles an ExtensionConfig of the queue. It returns false when the queue is shut down.
func (c *Controller) next(ctx context.Context) bool {
	name, stop := c.queue.Get()
	if stop {
		return false
	}
	defer c.queue.Done(name)
	exists, err := c.reconcile(ctx, name)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		klog.FromContext(ctx).Error(err, "an extension isn't discovered, and is asked again", "extensionConfig", name)
		c.queue.AddRateLimited(name)
	default:
		c.queue.Forget(name)
		if exists {
			c.queue.AddAfter(name, c.options.Period)
		}
	}
	return true
}

// reconcile registers the extension of an ExtensionConfig, or removes it if the ExtensionConfig doesn't exist any more.
func (c *Controller) reconcile(ctx context.Context, name string) (exists bool, err error) {
	obj, exists, err := c.configs.GetStore().GetByKey(name)
	if err != nil {
		return exists, err
	}
	if !exists || obj.(*unstructured.Unstructured).GetDeletionTimestamp() != nil {
		c.secrets.forget(name)
		c.options.Registry.Remove(name)
		return false, c.warmUp()
	}
	config := &runtimev1.ExtensionConfig{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.(*unstructured.Unstructured).Object, config); err != nil {
		return true, fmt.Errorf("ExtensionConfig %q: %w", name, err)
	}
	return true, c.discoverAndRegister(ctx, config)
}

// discoverAndRegister asks an extension, registers its handlers, and writes the status of its ExtensionConfig.
func (c *Controller) discoverAndRegister(ctx context.Context, config *runtimev1.ExtensionConfig) error {
	config, status, err := c.discover(ctx, config)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil { // a reader of the status may call the handlers at once
		discovered := config.DeepCopy()
		discovered.Status = *status
		err = c.register(discovered)
	}
	stored, writeErr := c.writeStatus(ctx, config, status)
	if err := errors.Join(err, writeErr); err != nil {
		return err
	}
	return c.register(stored) // as it is stored, by which responses are cached
}

// register makes the handlers of an ExtensionConfig callable.
func (c *Controller) register(config *runtimev1.ExtensionConfig) error {
	c.mu.Lock()
	cold := c.warming != nil
	if cold {
		c.warming[config.Name] = config
	}
	c.mu.Unlock()
	if cold {
		return c.warmUp()
	}
	return c.options.Registry.Add(config)
}

// warmUp makes the registry ready if all ExtensionConfigs that there were at the start, and still are, have been
// discovered.
func (c *Controller) warmUp() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.warming == nil {
		return nil
	}
	store := c.configs.GetStore()
	for _, name := range c.initial {
		if _, exists, err := store.GetByKey(name); err != nil || exists && c.warming[name] == nil {
			return err
		}
	}
	var all []runtimev1.ExtensionConfig
	for _, name := range slices.Sorted(maps.Keys(c.warming)) {
		if _, exists, err := store.GetByKey(name); err == nil && exists {
			all = append(all, *c.warming[name])
		}
	}
	if err := c.options.Registry.WarmUp(all); err != nil {
		return err
	}
	c.warming = nil
	return nil
}
