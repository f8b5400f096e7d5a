// Package quota is the controller resourcequota-controller: it puts the limits of a ResourceQuota in force, and measures
// what its namespace uses.
//
// [New] is the way in. Admission adds to the measured usage what requests create, and only the controller takes away what
// is gone.
package quota

import (
	"context"
	"errors"
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

	// resync is how often every quota is measured, in kube-controller-manager too.
	resync = 5 * time.Minute

	// confirmDelay is after how long a quota is measured again that uses less than before. Admission writes the usage before
	// the object that is counted is stored: a measure in between counts too little.
	confirmDelay = time.Second

	// replenishDelay collects objects that are gone.
	replenishDelay = 10 * time.Millisecond
)

// Config is what a controller works with.
type Config struct {
	Runner *work.Runner
	Client corev1client.ResourceQuotasGetter
	// Quotas is the informer of ResourceQuotas.
	Quotas cache.SharedIndexInformer
	// Measure returns what the namespace of a quota uses of its resources. With an error, the result has the resources
	// that could be measured nevertheless.
	Measure func(ctx context.Context, quota *corev1.ResourceQuota) (corev1.ResourceList, error)
}

// New starts a controller. The handler reports objects that are gone or use less.
func New(config Config) (objects.Handler, error) {
	c := &controller{Config: config}
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

// inForce reports whether the limits of a quota are in its status. The usage in it may have been changed by admission, for
// an object that isn't stored yet: it must not be measured then.
func inForce(q *corev1.ResourceQuota) bool {
	return q.Status.Hard != nil && q.Status.Used != nil && equality.Semantic.DeepEqual(q.Spec.Hard, q.Status.Hard)
}

type controller struct {
	Config
	queue *work.Queue[string]
}

// changing are the kinds of objects that can use less without being deleted.
var changing = sets.New(
	schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
	schema.GroupVersionKind{Version: "v1", Kind: "Service"},
	schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"},
)

// Stored implements objects.Handler.
func (c *controller) Stored(o objects.Object) {
	if changing.Has(o.Kind) {
		c.Deleted(o)
	}
}

// Deleted implements objects.Handler.
func (c *controller) Deleted(o objects.Object) {
	if o.Namespace == "" {
		return
	}
	keys, err := c.Quotas.GetIndexer().IndexKeys(cache.NamespaceIndex, o.Namespace)
	if err != nil {
		return // the index exists
	}
	for _, key := range keys {
		c.queue.AddAfter(key, replenishDelay)
	}
}

// Listed implements objects.Handler.
func (c *controller) Listed(sets.Set[types.UID]) {
	for _, key := range c.Quotas.GetStore().ListKeys() {
		c.queue.Add(key)
	}
}

// sync writes the limits and the usage of a quota, if they have changed.
func (c *controller) sync(ctx context.Context, key string) (time.Duration, error) {
	obj, exists, err := c.Quotas.GetStore().GetByKey(key)
	if err != nil || !exists {
		return 0, err
	}
	quota := obj.(*corev1.ResourceQuota)
	measured, measureErr := c.Measure(ctx, quota)
	status := corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard.DeepCopy(), Used: corev1.ResourceList{}}
	for name := range quota.Spec.Hard {
		if used, ok := measured[name]; ok {
			status.Used[name] = used
		} else if used, ok := quota.Status.Used[name]; ok {
			status.Used[name] = used // it can't be measured
		}
	}
	if !inForce(quota) || !equality.Semantic.DeepEqual(status, quota.Status) {
		changed := quota.DeepCopy()
		changed.Status = status
		_, err = c.Client.ResourceQuotas(quota.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			err = nil
		}
	}
	if less(status.Used, quota.Status.Used) {
		return confirmDelay, errors.Join(measureErr, err)
	}
	return resync, errors.Join(measureErr, err)
}

// less reports whether less is used of any resource than before.
func less(now, before corev1.ResourceList) bool {
	for name, used := range now {
		if former, ok := before[name]; ok && used.Cmp(former) < 0 {
			return true
		}
	}
	return false
}
