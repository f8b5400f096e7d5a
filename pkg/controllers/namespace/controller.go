package namespace

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Name is the name of the controller, and of its service account.
	Name = "namespace-controller"

	// workers is the number of namespaces that are deleted at the same time.
	workers = 10

	// sharedDelay is the time between the deletion of a namespace and the deletion of its content, if several
	// servers share an etcd. Another server may not have received the deletion of the namespace yet, and may
	// still create objects in the namespace.
	sharedDelay = 5 * time.Second

	// goneDelay is the time between the deletion of an object in a namespace and the controller's next check of the
	// namespace. One check is enough for all deletions within that time.
	goneDelay = 20 * time.Millisecond
)

// Config has the dependencies of a controller.
type Config struct {
	Runner    *work.Runner
	Client    corev1client.CoreV1Interface
	Metadata  metadata.Interface
	Resources *served.Resources
	// Namespaces is the informer of namespaces.
	Namespaces cache.SharedIndexInformer
	// Count returns the number of objects of a resource in a namespace, without a request. It returns false if
	// the number isn't available without a request. Count may be nil.
	Count func(ctx context.Context, resource served.Resource, namespace string) (int64, bool)
	// Shared is true if other servers store objects in the same etcd.
	Shared bool
}

// Controller deletes the content of namespaces. Its Handler must get the events of all objects.
type Controller struct {
	Config
	queue *work.Queue[string]
	// ended is called when the controller has removed its finalizer from a namespace.
	ended func(namespace string)

	mu      sync.Mutex
	waiting sets.Set[string] // namespaces whose content isn't gone yet
}

// New starts the controller.
func New(config Config) (*Controller, error) {
	c := &Controller{Config: config, waiting: sets.New[string]()}
	c.ended = newOrphans(&c.Config).expect
	c.queue = work.NewQueue(config.Runner, work.Options[string]{
		Name: Name, Workers: workers, Do: c.delete,
		Limiter: workqueue.NewTypedMaxOfRateLimiter(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, time.Minute),
			&workqueue.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(10, 100)},
		),
	})
	_, err := config.Namespaces.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.add,
		UpdateFunc: func(_, changed any) { c.add(changed) },
	})
	return c, err
}

func (c *Controller) add(obj any) {
	namespace, ok := obj.(*corev1.Namespace)
	if !ok || namespace.DeletionTimestamp == nil {
		return
	}
	var delay time.Duration
	if c.Shared {
		delay = sharedDelay
	}
	c.queue.AddAfter(namespace.Name, delay)
}

// Handler returns a handler of object events. When an object is deleted, the controller checks the object's namespace
// again.
func (c *Controller) Handler() objects.Handler { return handler{c} }

type handler struct{ *Controller }

// Stored implements objects.Handler.
func (h handler) Stored(objects.Object) {}

// Deleted implements objects.Handler.
func (h handler) Deleted(o objects.Object) {
	h.mu.Lock()
	waits := h.waiting.Has(o.Namespace)
	h.mu.Unlock()
	if waits {
		h.queue.AddAfter(o.Namespace, goneDelay)
	}
}

// Listed implements objects.Handler.
func (h handler) Listed(sets.Set[types.UID]) {
	h.mu.Lock()
	waiting := h.waiting.UnsortedList()
	h.mu.Unlock()
	for _, namespace := range waiting {
		h.queue.Add(namespace)
	}
}

func (c *Controller) wait(namespace string, waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waits {
		c.waiting.Insert(namespace)
	} else {
		c.waiting.Delete(namespace)
	}
}

// delete deletes the content of a namespace that is being deleted, and removes the namespace's finalizer when no
// object is left. Otherwise it returns the time after which the controller must call delete again.
func (c *Controller) delete(ctx context.Context, name string) (time.Duration, error) {
	c.wait(name, true)
	again, err := c.deleteContent(ctx, name)
	if err == nil && again == 0 {
		c.wait(name, false)
	}
	return again, err
}

func (c *Controller) deleteContent(ctx context.Context, name string) (time.Duration, error) {
	client := c.Client.Namespaces()
	namespace, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && namespace.DeletionTimestamp == nil {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if namespace.Status.Phase != corev1.NamespaceTerminating {
		namespace, err = c.update(ctx, namespace, func(n *corev1.Namespace) (*corev1.Namespace, error) {
			n.Status.Phase = corev1.NamespaceTerminating
			return client.UpdateStatus(ctx, n, metav1.UpdateOptions{})
		})
		if err != nil {
			return 0, work.IgnoreGone(err)
		}
	}
	if len(namespace.Spec.Finalizers) == 0 {
		return 0, nil
	}
	changes := c.Resources.Changes()
	content := content{Config: &c.Config, namespace: name, deleted: namespace.DeletionTimestamp.Time}
	content.delete(ctx)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if conditions, changed := content.conditions(namespace.Status.Conditions, metav1.Now()); changed {
		namespace.Status.Conditions = conditions
		// If the conditions can't be written, the deletion goes on without them.
		if updated, err := client.UpdateStatus(ctx, namespace, metav1.UpdateOptions{}); err == nil {
			namespace = updated
		}
	}
	if err := content.err(); err != nil {
		return 0, err
	}
	if content.estimate > 0 {
		return time.Duration(content.estimate/2+1) * time.Second, nil
	}
	if c.Resources.Changes() != changes {
		return time.Millisecond, nil // kinds that have appeared meanwhile may have objects
	}
	_, err = c.update(ctx, namespace, func(n *corev1.Namespace) (*corev1.Namespace, error) {
		n.Spec.Finalizers = slices.DeleteFunc(n.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
		return client.Finalize(ctx, n, metav1.UpdateOptions{})
	})
	if err = work.IgnoreGone(err); err == nil {
		c.ended(name)
	}
	return 0, err
}

// update changes a namespace. After a conflict, it reads the namespace and tries again.
func (c *Controller) update(ctx context.Context, namespace *corev1.Namespace, change func(*corev1.Namespace) (*corev1.Namespace, error)) (*corev1.Namespace, error) {
	uid := namespace.UID
	for {
		changed, err := change(namespace.DeepCopy())
		if !apierrors.IsConflict(err) {
			return changed, err
		}
		if namespace, err = c.Client.Namespaces().Get(ctx, namespace.Name, metav1.GetOptions{}); err != nil {
			return nil, err
		}
		if namespace.UID != uid {
			return nil, fmt.Errorf("namespace %s was deleted and created again: its UID was %s, and is %s now", namespace.Name, uid, namespace.UID)
		}
	}
}
