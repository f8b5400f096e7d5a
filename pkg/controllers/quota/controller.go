// Package quota is the controller resourcequota-controller: it copies the limits of a ResourceQuota into its
// status, and measures the usage in the quota's namespace.
//
// [New] starts the controller. Admission adds the usage of new objects to the status. Only the controller subtracts
// the usage of deleted objects.
package quota

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "resourcequota-controller"

	// resync is the time after which each quota is measured again. kube-controller-manager has the same period.
	resync = 5 * time.Minute

	// settleDelay is the time for which a quota must not have changed before a lower usage is written. Admission adds the
	// usage of an object before the object is stored, and this time is enough to store it. If the usage were lowered in
	// between, more objects would be admitted than the quota allows.
	settleDelay = 100 * time.Millisecond

	// confirmDelay is the time after which a quota is measured again if its usage has decreased, in case an object took
	// longer to be stored.
	confirmDelay = time.Second

	// changeDelay is the time after which a quota is measured when an object has changed. Most such objects have just been
	// created, and others with them.
	changeDelay = 300 * time.Millisecond

	// replenishDelay is the time for which the controller collects deletions before it measures a quota again.
	replenishDelay = 10 * time.Millisecond
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client corev1client.ResourceQuotasGetter
	// Quotas is the informer of ResourceQuotas.
	Quotas cache.SharedIndexInformer
	// Measure returns the usage of the resources that a quota limits, in the quota's namespace. If it returns an
	// error, the result has the resources that could be measured.
	Measure func(ctx context.Context, quota *corev1.ResourceQuota) (corev1.ResourceList, error)
}

// New starts the controller. The returned handler must get the events of all objects.
func New(config Config) (objects.Handler, error) {
	c := &controller{Config: config, decreases: map[string]decrease{}}
	c.queue = work.NewQueue(config.Runner, work.Options[string]{Name: Account, Workers: 5, Do: c.sync})
	return c, work.Enqueue(work.Events{
		Informer: config.Quotas,
		Changed: func(o metav1.Object) {
			if q, ok := o.(*corev1.ResourceQuota); ok && !inForce(q) {
				c.queue.Add(cache.MetaObjectToName(q).String())
			}
		},
	})
}

// inForce reports whether the status of a quota has the quota's limits. If it has, a change of the quota may come
// from admission, which counts an object before the object is stored. Such a change must not lead to a measurement,
// because the measurement may not count the object yet.
func inForce(q *corev1.ResourceQuota) bool {
	return q.Status.Hard != nil && q.Status.Used != nil && equality.Semantic.DeepEqual(q.Spec.Hard, q.Status.Hard)
}

type controller struct {
	Config
	queue *work.Queue[string]

	mu        sync.Mutex
	decreases map[string]decrease // by the key of the quota
}

// decrease is a measured usage that is lower than the one in the status of a quota.
type decrease struct {
	version string // of the quota
	since   time.Time
}

// settles returns the time until a lower usage may be written, if the version of the quota stays.
func (c *controller) settles(key, version string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.decreases[key].version != version {
		c.decreases[key] = decrease{version, time.Now()}
	}
	return time.Until(c.decreases[key].since.Add(settleDelay))
}

// settled forgets that the usage of a quota was lower.
func (c *controller) settled(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.decreases, key)
}

// changing are the kinds of objects whose usage can decrease before they are deleted.
var changing = sets.New(
	schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
	schema.GroupVersionKind{Version: "v1", Kind: "Service"},
	schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"},
)

// Stored implements objects.Handler.
func (c *controller) Stored(o objects.Object) {
	if changing.Has(o.Kind) {
		c.measure(o, changeDelay)
	}
}

// Deleted implements objects.Handler.
func (c *controller) Deleted(o objects.Object) { c.measure(o, replenishDelay) }

// measure measures the quotas of an object's namespace after a delay.
func (c *controller) measure(o objects.Object, delay time.Duration) {
	if o.Namespace == "" {
		return
	}
	keys, err := c.Quotas.GetIndexer().IndexKeys(cache.NamespaceIndex, o.Namespace)
	if err != nil {
		return // the error is impossible: the index exists
	}
	for _, key := range keys {
		c.queue.AddAfter(key, delay)
	}
}

// Listed implements objects.Handler.
func (c *controller) Listed(sets.Set[types.UID]) {
	for _, key := range c.Quotas.GetStore().ListKeys() {
		c.queue.Add(key)
	}
}

// sync writes the limits and the usage of a quota into its status, unless the status has them already. It returns the
// time until the quota must be measured again.
func (c *controller) sync(ctx context.Context, key string) (time.Duration, error) {
	obj, exists, err := c.Quotas.GetStore().GetByKey(key)
	if err != nil || !exists {
		c.settled(key)
		return 0, err
	}
	quota := obj.(*corev1.ResourceQuota)
	measured, measureErr := c.Measure(ctx, quota)
	status := corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard.DeepCopy(), Used: corev1.ResourceList{}}
	for name := range quota.Spec.Hard {
		if used, ok := measured[name]; ok {
			status.Used[name] = used
		} else if used, ok := quota.Status.Used[name]; ok {
			status.Used[name] = used // Measure has no value for the resource, so the old value stays
		}
	}
	lower := less(status.Used, quota.Status.Used)
	if lower && inForce(quota) {
		if left := c.settles(key, quota.ResourceVersion); left > 0 {
			return left, measureErr
		}
	}
	c.settled(key)
	if !inForce(quota) || !equality.Semantic.DeepEqual(status, quota.Status) {
		changed := quota.DeepCopy()
		changed.Status = status
		_, err = c.Client.ResourceQuotas(quota.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			err = nil
		}
	}
	if lower {
		return confirmDelay, errors.Join(measureErr, err)
	}
	return resync, errors.Join(measureErr, err)
}

// less reports whether the usage of any resource has decreased.
func less(now, before corev1.ResourceList) bool {
	for name, used := range now {
		if former, ok := before[name]; ok && used.Cmp(former) < 0 {
			return true
		}
	}
	return false
}
