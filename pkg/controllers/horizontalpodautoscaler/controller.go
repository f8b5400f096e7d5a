package horizontalpodautoscaler

import (
	"context"
	"fmt"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	autoscalingv2client "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account, and the source of its events.
	Account = "horizontal-pod-autoscaler"

	// period is the time after which an autoscaler is evaluated again.
	period = 15 * time.Second
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client autoscalingv2client.HorizontalPodAutoscalersGetter
	Events *eventrecorder.Recorder
	// Mapper returns the resources of a kind, and Scales reads and writes their numbers of replicas.
	Mapper  meta.RESTMapper
	Scales  scale.ScalesGetter
	Metrics Metrics
	// Autoscalers and Pods are the informers of HorizontalPodAutoscalers and pods.
	Autoscalers, Pods cache.SharedIndexInformer
}

// New starts the controller. The function that it returns makes the controller forget its recommendations: a restored
// snapshot may have autoscalers from before these.
func New(config Config) (forget func(), err error) {
	c := &controller{Config: config, memories: map[cache.ObjectName]*memory{}}
	c.queue = work.NewQueue(config.Runner, work.Options[cache.ObjectName]{
		Name: Account, Workers: 5, Do: c.sync,
		Limiter: workqueue.NewTypedItemFastSlowRateLimiter[cache.ObjectName](period, period, 0),
	})
	changed := func(o metav1.Object) { c.queue.Add(cache.MetaObjectToName(o)) }
	return c.forgetAll, work.Enqueue(work.Events{Informer: config.Autoscalers, Changed: changed, Deleted: changed, Updated: func(before, after metav1.Object) {
		if before.GetGeneration() != after.GetGeneration() {
			changed(after)
		}
	}})
}

type controller struct {
	Config
	queue *work.Queue[cache.ObjectName]

	mu       sync.Mutex
	memories map[cache.ObjectName]*memory
}

// memory is what the controller remembers of an autoscaler.
type memory struct {
	// selector selects the pods of the autoscaler's target. The mutex of the controller guards it.
	selector        labels.Selector
	recommendations []recommendation
	ups, downs      []change
}

func (c *controller) memoryOf(key cache.ObjectName) *memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.memories[key]
	if m == nil {
		m = &memory{selector: labels.Nothing()}
		c.memories[key] = m
	}
	return m
}

func (c *controller) forget(key cache.ObjectName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.memories, key)
}

func (c *controller) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.memories)
}

// sync evaluates an autoscaler, scales its target, and writes its status.
func (c *controller) sync(ctx context.Context, key cache.ObjectName) (again time.Duration, err error) {
	obj, exists, err := c.Autoscalers.GetStore().GetByKey(key.String())
	if err != nil || !exists {
		c.forget(key)
		return 0, err
	}
	stored := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	e := &evaluation{controller: c, key: key, memory: c.memoryOf(key), autoscaler: stored.DeepCopy(), now: time.Now()}
	failed := e.run(ctx)
	if !equality.Semantic.DeepEqual(e.autoscaler.Status, stored.Status) {
		if _, err := c.Client.HorizontalPodAutoscalers(key.Namespace).UpdateStatus(ctx, e.autoscaler, metav1.UpdateOptions{}); err != nil {
			c.Events.Warn(e.autoscaler, "FailedUpdateStatus", "%v", err)
			return 0, fmt.Errorf("failed to update status for %s: %w", key.Name, err)
		}
	}
	return period, failed
}

// selectedBy remembers the selector of an autoscaler's target, and returns the autoscalers that select any of the labels:
// at most two, and no others.
func (c *controller) selectedBy(key cache.ObjectName, selector labels.Selector, sets []labels.Set) (found []cache.ObjectName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.memories[key]; m != nil {
		m.selector = selector
	}
	for other, m := range c.memories {
		if other.Namespace != key.Namespace || len(found) == 2 {
			continue
		}
		for _, set := range sets {
			if m.selector.Matches(set) {
				found = append(found, other)
				break
			}
		}
	}
	return found
}
