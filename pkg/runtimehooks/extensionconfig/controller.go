package extensionconfig

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
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
)

// Defaults of the options.
const (
	DefaultPeriod       = 10 * time.Minute
	DefaultFirstBackoff = 100 * time.Millisecond
	DefaultLastBackoff  = time.Minute
)

// workers is the number of extensions whose Discovery is called at the same time. With several workers, a single
// extension that doesn't answer delays no other extension.
const workers = 4

// Options are the dependencies and settings of a Controller.
type Options struct {
	// Catalog has the hooks, and says which of their versions are deprecated.
	Catalog *catalog.Catalog
	// Client calls the hook Discovery.
	Client *hookclient.Client
	// Registry gets the handlers of all extensions.
	Registry *hookregistry.Registry
	// Dynamic reads and writes ExtensionConfigs.
	Dynamic dynamic.Interface
	// Kubernetes reads the Secrets with the caBundles of ExtensionConfigs.
	Kubernetes kubernetes.Interface
	// Period is the time after which the controller calls Discovery of a discovered extension again. The default is
	// DefaultPeriod.
	Period time.Duration
	// FirstBackoff is the time between an error of Discovery and the next call. The time doubles with each further
	// error, up to LastBackoff. The defaults are DefaultFirstBackoff and DefaultLastBackoff.
	FirstBackoff, LastBackoff time.Duration
}

// Controller discovers extensions.
type Controller struct {
	options Options
	queue   workqueue.TypedRateLimitingInterface[string] // names of ExtensionConfigs
	configs cache.SharedIndexInformer
	secrets *secrets

	// synced is closed after the first list of ExtensionConfigs.
	synced chan struct{}

	mu sync.Mutex
	// initial are the names in the first list of ExtensionConfigs, without those that have been deleted since. The
	// registry becomes ready when each of them is discovered, is paused, or is being deleted.
	initial sets.Set[string]
	// warming has the discovered and the paused ExtensionConfigs while the registry isn't ready. It is nil when the
	// registry is ready.
	warming map[string]*runtimev1.ExtensionConfig
}

// New returns a controller. The method Run starts it.
func New(options Options) (*Controller, error) {
	var errs []error
	for name, missing := range map[string]bool{
		"Catalog": options.Catalog == nil, "Client": options.Client == nil, "Registry": options.Registry == nil,
		"Dynamic": options.Dynamic == nil, "Kubernetes": options.Kubernetes == nil,
	} {
		if missing {
			errs = append(errs, fmt.Errorf("a controller of ExtensionConfigs: Options.%s must be set", name))
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

// changed reports whether the controller must handle an update of an ExtensionConfig: the spec or the annotations have
// changed, the ExtensionConfig has been created anew, or its deletion has begun. A change of the status has no effect,
// because the controller itself writes the status.
func changed(was, is *unstructured.Unstructured) bool {
	return was.GetGeneration() != is.GetGeneration() || !maps.Equal(was.GetAnnotations(), is.GetAnnotations()) ||
		was.GetUID() != is.GetUID() || (was.GetDeletionTimestamp() == nil) != (is.GetDeletionTimestamp() == nil)
}

// enqueue makes a worker handle a new, changed or deleted ExtensionConfig without a backoff. It resets the backoff,
// because the change of the ExtensionConfig may have removed the cause of earlier errors.
func (c *Controller) enqueue(obj any) {
	name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return // this doesn't happen: the informer has only ExtensionConfigs
	}
	c.queue.Forget(name)
	c.queue.Add(name)
}

// Run discovers extensions until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer c.secrets.running.Wait() // waits for goroutines that the workers started; the workers have ended by then
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
	c.initial = sets.New(c.configs.GetStore().ListKeys()...)
	c.mu.Unlock()
	if err := c.warmUp(); err != nil { // without ExtensionConfigs, the registry is ready now
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

// Synced returns a channel that is closed when Run has made its first list of ExtensionConfigs. The registry becomes
// ready when each ExtensionConfig of that list is discovered, is paused, is being deleted, or has been deleted. The
// registry doesn't wait for ExtensionConfigs that are created later.
func (c *Controller) Synced() <-chan struct{} { return c.synced }

// next handles one ExtensionConfig of the queue. It returns false when the queue is shut down.
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

// reconcile discovers the extension of an ExtensionConfig. If the ExtensionConfig doesn't exist or is being deleted,
// reconcile removes the extension's handlers, and the result exists is false.
func (c *Controller) reconcile(ctx context.Context, name string) (exists bool, err error) {
	current := c.current(name)
	if current == nil {
		c.secrets.forget(name)
		c.unregister(name)
		return false, c.warmUp()
	}
	config := &runtimev1.ExtensionConfig{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(current.Object, config); err != nil {
		return true, fmt.Errorf("ExtensionConfig %q: %w", name, err)
	}
	return true, c.discoverAndRegister(ctx, config)
}

// current returns the ExtensionConfig with the name, or nil if the ExtensionConfig doesn't exist or is being deleted.
func (c *Controller) current(name string) *unstructured.Unstructured {
	// The store of an informer never returns an error.
	obj, exists, _ := c.configs.GetStore().GetByKey(name)
	if !exists || obj.(*unstructured.Unstructured).GetDeletionTimestamp() != nil {
		return nil
	}
	return obj.(*unstructured.Unstructured)
}

// discoverAndRegister calls the extension's Discovery, registers its handlers, and writes the status of the
// ExtensionConfig.
func (c *Controller) discoverAndRegister(ctx context.Context, config *runtimev1.ExtensionConfig) error {
	config, status, err := c.discover(ctx, config)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil { // register before the status is written: a user who sees the status may call the handlers at once
		discovered := config.DeepCopy()
		discovered.Status = *status
		err = c.register(discovered)
	}
	stored, writeErr := c.writeStatus(ctx, config, status)
	if err := errors.Join(err, writeErr); err != nil {
		return err
	}
	// The write of the status may have changed the resource version of the ExtensionConfig. The handlers need the new
	// resource version, because it is a part of the keys of cached responses.
	return c.register(stored)
}

// register adds the handlers of an ExtensionConfig to the registry. If the registry isn't ready yet, register keeps the
// ExtensionConfig until warmUp makes the registry ready.
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

// unregister removes the handlers of an ExtensionConfig from the registry.
func (c *Controller) unregister(name string) {
	// A warmUp at the same time may have read the ExtensionConfig before its deletion. Without the lock, warmUp could
	// add the handlers of the ExtensionConfig after Remove.
	c.mu.Lock()
	defer c.mu.Unlock()
	c.initial.Delete(name)
	delete(c.warming, name)
	c.options.Registry.Remove(name)
}

// warmUp makes the registry ready if each ExtensionConfig of the first list is discovered, is paused, is being deleted,
// or has been deleted.
func (c *Controller) warmUp() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.warming == nil {
		return nil
	}
	for name := range c.initial {
		if c.current(name) != nil && c.warming[name] == nil {
			return nil
		}
	}
	var all []runtimev1.ExtensionConfig
	for _, name := range slices.Sorted(maps.Keys(c.warming)) {
		if c.current(name) != nil {
			all = append(all, *c.warming[name])
		}
	}
	if err := c.options.Registry.WarmUp(all); err != nil {
		return err
	}
	c.warming = nil
	return nil
}

// discover calls the extension's Discovery, unless the ExtensionConfig is paused. It returns the ExtensionConfig
// with its caBundle, and the new status. If the extension fails, the status has the error too.
func (c *Controller) discover(ctx context.Context, config *runtimev1.ExtensionConfig) (*runtimev1.ExtensionConfig, *runtimev1.ExtensionConfigStatus, error) {
	_, paused := config.Annotations[runtimev1.PausedAnnotation]
	status := config.Status.DeepCopy()
	setPaused(status, config.Generation, paused)
	if paused {
		return config, status, nil
	}
	config, err := c.injectCA(ctx, config)
	if err == nil {
		var handlers []runtimev1.ExtensionHandler
		if handlers, err = c.options.Client.Discover(ctx, config); err == nil {
			status.Handlers = handlers
			setDeprecated(status, config.Generation, c.deprecated(handlers))
		}
	}
	setPaused(status, config.Generation, false) // injecting the caBundle may have incremented the generation
	setDiscovered(status, config.Generation, err)
	return config, status, err
}
