// Package deployment is the controller deployment-controller: it rolls changes of a Deployment's template out, by
// ReplicaSets.
//
// [New] starts the controller. Package replicaset gives the ReplicaSets their pods.
package deployment

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account, and the source of its Events.
	Account = "deployment-controller"

	// workers is the number of Deployments that are handled at the same time, as in kube-controller-manager.
	workers = 5
)

var kind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client appsv1client.AppsV1Interface
	Events *eventrecorder.Recorder
	// Deployments, Sets and Pods are the informers of Deployments, ReplicaSets and pods.
	Deployments, Sets, Pods cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	c := &controller{config}
	queue := work.NewQueue(config.Runner, work.Options[string]{Name: Account, Workers: workers, Do: c.sync})
	for _, informer := range []cache.SharedIndexInformer{config.Sets, config.Pods} {
		if err := owned.Index(informer); err != nil {
			return err
		}
	}
	owners := owned.Owners{Kind: kind.Kind, Informer: config.Deployments, Selector: func(obj any) (labels.Selector, error) {
		return metav1.LabelSelectorAsSelector(obj.(*appsv1.Deployment).Spec.Selector)
	}}
	sets := owners.Events(config.Sets, queue.Add)
	return work.Enqueue(
		work.Events{Informer: config.Deployments, Changed: func(o metav1.Object) { queue.Add(owned.Key(o)) }},
		sets,
		// A Deployment that recreates its pods waits for the end of the old ones.
		work.Events{Informer: config.Pods, Deleted: func(pod metav1.Object) {
			if set := c.setOf(pod); set != nil {
				sets.Changed(set)
			}
		}},
	)
}

type controller struct{ Config }

// setOf returns the ReplicaSet that is the controller of a pod, or nil if the pod has none or is an orphan's.
func (c *controller) setOf(pod metav1.Object) metav1.Object {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return nil
	}
	obj, _, _ := c.Sets.GetStore().GetByKey(cache.NewObjectName(pod.GetNamespace(), owner.Name).String())
	if set, ok := obj.(*appsv1.ReplicaSet); ok && set.UID == owner.UID && metav1.GetControllerOfNoCopy(set) != nil {
		return set
	}
	return nil
}

// rollout is the work on a Deployment.
type rollout struct {
	*controller
	// d is a copy of the Deployment. Its status is the present one until the work ends.
	d *appsv1.Deployment
	// newest is the ReplicaSet with the Deployment's template, or nil if it doesn't exist. old are all others, from the
	// first one that was created to the last.
	newest *appsv1.ReplicaSet
	old    []*appsv1.ReplicaSet
}

// all returns all ReplicaSets of the Deployment.
func (r *rollout) all() []*appsv1.ReplicaSet {
	if r.newest == nil {
		return slices.Clone(r.old)
	}
	return append(slices.Clone(r.old), r.newest)
}

// sync brings the ReplicaSets of a Deployment a step nearer to its spec. The changes of the ReplicaSets cause the next step.
func (c *controller) sync(ctx context.Context, key string) (time.Duration, error) {
	obj, exists, err := c.Deployments.GetStore().GetByKey(key)
	if err != nil || !exists {
		return 0, err
	}
	again, err := c.roll(ctx, obj.(*appsv1.Deployment).DeepCopy())
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return 0, nil
	}
	return again, work.IgnoreStale(err)
}

func (c *controller) roll(ctx context.Context, d *appsv1.Deployment) (time.Duration, error) {
	sets, err := c.claim(ctx, d)
	if err != nil {
		return 0, err
	}
	r := &rollout{controller: c, d: d}
	r.newest, r.old = split(&d.Spec.Template, sets)
	if d.DeletionTimestamp == nil {
		if err := r.notePause(ctx); err != nil {
			return 0, err
		}
	}
	if r.newest != nil {
		if err := r.syncNewest(ctx); err != nil {
			return 0, err
		}
	}
	revision, rollsBack := rollbackTo(d)
	switch {
	case d.DeletionTimestamp != nil:
		return 0, r.writeStatus(ctx, r.status())
	case d.Spec.Paused:
		return 0, r.scaleAll(ctx)
	case rollsBack:
		return 0, r.rollback(ctx, revision)
	case r.isScaled():
		return 0, r.scaleAll(ctx)
	case d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return r.recreate(ctx)
	case d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType:
		return r.update(ctx)
	}
	return 0, fmt.Errorf("unexpected deployment strategy type: %s", d.Spec.Strategy.Type)
}

// claim adopts and releases ReplicaSets, and returns those of the Deployment.
func (c *controller) claim(ctx context.Context, d *appsv1.Deployment) ([]*appsv1.ReplicaSet, error) {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("deployment %s/%s has invalid label selector: %w", d.Namespace, d.Name, err)
	}
	return owned.Claim(ctx, owned.Claimant{
		Owner:    d,
		Kind:     kind,
		Selector: selector,
		Live: func(ctx context.Context) (metav1.Object, error) {
			return c.Client.Deployments(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
		},
		Patch: func(ctx context.Context, name string, patch []byte) error {
			_, err := c.Client.ReplicaSets(d.Namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			return err
		},
	}, owned.Candidates[*appsv1.ReplicaSet](c.Sets, d))
}
