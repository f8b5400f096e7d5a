// Package replicaset is the controllers replicaset-controller and replicationcontroller-controller: they keep as many
// pods as a ReplicaSet or a ReplicationController asks for, and write the numbers into its status.
//
// [New] starts one of them. [ReplicaSets] and [ReplicationControllers] say which.
package replicaset

import (
	"cmp"
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// The names of the controllers' service accounts, which are also the sources of their Events.
const (
	Account            = "replicaset-controller"
	ReplicationAccount = "replication-controller"
)

const (
	// workers is the number of sets that are handled at the same time, and burst the number of pods that are created
	// or deleted before the set is looked at again. The values are those of kube-controller-manager.
	workers = 5
	burst   = 500
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	// API makes requests for the controller's kind.
	API API
	// Pods creates and deletes pods.
	Pods owned.Pods
	// Sets is the informer of the controller's kind, and PodInformer that of pods.
	Sets, PodInformer cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	c := &controller{config}
	queue := work.NewQueue(config.Runner, work.Options[string]{Name: config.API.kind.Kind, Workers: workers, Do: c.sync})
	for _, informer := range []cache.SharedIndexInformer{config.Sets, config.PodInformer} {
		if err := owned.Index(informer); err != nil {
			return err
		}
	}
	return work.Enqueue(
		work.Events{Informer: config.Sets, Changed: func(o metav1.Object) { queue.Add(owned.Key(o)) }},
		c.relevant(owned.Owners{Kind: config.API.kind.Kind, Informer: config.Sets, Selector: c.selector}.Events(config.PodInformer, queue.Add)),
	)
}

type controller struct{ Config }

func (c *controller) selector(obj any) (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(c.API.view(obj).Spec.Selector)
}

// sync creates or deletes pods of a set, and writes the set's status. It returns the time after which the next pod
// becomes available.
func (c *controller) sync(ctx context.Context, key string) (time.Duration, error) {
	obj, exists, err := c.Sets.GetStore().GetByKey(key)
	if err != nil || !exists {
		return 0, err
	}
	set := c.API.view(obj)
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return 0, nil // the set is changed before it has a selector that is valid
	}
	candidates := owned.Candidates[*corev1.Pod](c.PodInformer, set)
	active, err := owned.Claim(ctx, owned.Claimant{
		Owner:    set,
		Kind:     c.API.kind,
		Selector: selector,
		Live:     func(ctx context.Context) (metav1.Object, error) { return c.API.get(ctx, set) },
		Patch:    c.Pods.Patch(set.Namespace),
	}, filter(candidates, owned.IsActive))
	if err != nil {
		return 0, err
	}
	terminating := filter(candidates, func(pod *corev1.Pod) bool {
		return owned.IsTerminating(pod) && metav1.IsControlledBy(pod, set) && selector.Matches(labels.Set(pod.Labels))
	})

	var failed error
	if set.DeletionTimestamp == nil {
		failed = c.scale(ctx, set, slices.Clone(active))
	}
	now := time.Now()
	status := statusOf(set, active, failed, now)
	if c.API.countsTerminating {
		status.TerminatingReplicas = new(int32(len(terminating)))
	}
	if !equality.Semantic.DeepEqual(status, set.Status) {
		if err := c.API.updateStatus(ctx, set, status); err != nil {
			return 0, work.IgnoreStale(err)
		}
	}
	if failed != nil || status.ReadyReplicas == status.AvailableReplicas {
		return 0, failed
	}
	minReady := set.Spec.MinReadySeconds
	return cmp.Or(owned.NextAvailable(active, minReady, now), time.Duration(minReady)*time.Second), nil
}

func filter(pods []*corev1.Pod, keep func(*corev1.Pod) bool) (kept []*corev1.Pod) {
	for _, pod := range pods {
		if keep(pod) {
			kept = append(kept, pod)
		}
	}
	return kept
}

// scale creates the missing pods of a set, or deletes the surplus ones. It sorts the active pods.
func (c *controller) scale(ctx context.Context, set *appsv1.ReplicaSet, active []*corev1.Pod) error {
	missing := int(*set.Spec.Replicas) - len(active)
	if missing >= 0 {
		controller := metav1.NewControllerRef(set, c.API.kind)
		_, err := owned.SlowStart(min(missing, burst), func(int) error {
			err := c.Pods.Create(ctx, set, owned.NewPod(&set.Spec.Template, set, controller))
			if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
				return nil // no pod can be created any more
			}
			return err
		})
		return err
	}
	if surplus := -missing; surplus < len(active) {
		slices.SortStableFunc(active, owned.Order{Costs: true, Colocated: c.colocated(set), Now: time.Now()}.Compare)
		active = active[:surplus]
	}
	errs := owned.Each(min(len(active), burst), func(i int) error { return c.Pods.Delete(ctx, set, active[i]) })
	if len(errs) > 0 {
		return errs[0]
	}
	return nil
}

// colocated returns the number of active pods on each node that belong to the controller of a set, such as a Deployment.
func (c *controller) colocated(set *appsv1.ReplicaSet) map[string]int {
	owner := metav1.GetControllerOf(set)
	if owner == nil {
		return nil
	}
	nodes := map[string]int{}
	seen := sets.New[types.UID]()
	for _, related := range owned.Of[metav1.Object](c.Sets, &metav1.ObjectMeta{UID: owner.UID}) {
		selector, err := c.selector(related)
		if err != nil {
			continue
		}
		// the error is impossible: the index of namespaces exists
		_ = cache.ListAllByNamespace(c.PodInformer.GetIndexer(), related.GetNamespace(), selector, func(obj any) {
			if pod, ok := obj.(*corev1.Pod); ok && owned.IsActive(pod) && !seen.Has(pod.UID) {
				seen.Insert(pod.UID)
				nodes[pod.Spec.NodeName]++
			}
		})
	}
	return nodes
}

// statusOf returns the status of a set before the changes that scale has made. failed is the error of scale.
func statusOf(set *appsv1.ReplicaSet, active []*corev1.Pod, failed error, now time.Time) appsv1.ReplicaSetStatus {
	status := appsv1.ReplicaSetStatus{Replicas: int32(len(active)), ObservedGeneration: set.Generation, Conditions: set.Status.Conditions}
	template := labels.SelectorFromSet(set.Spec.Template.Labels)
	for _, pod := range active {
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		if owned.IsReady(pod) {
			status.ReadyReplicas++
		}
		if owned.IsAvailable(pod, set.Spec.MinReadySeconds, now) {
			status.AvailableReplicas++
		}
	}
	isFailure := func(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure }
	switch {
	case failed == nil:
		status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), isFailure)
	case !slices.ContainsFunc(status.Conditions, isFailure):
		reason := owned.FailedCreate
		if len(active) > int(*set.Spec.Replicas) {
			reason = owned.FailedDelete
		}
		status.Conditions = append(slices.Clone(status.Conditions), appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
			Reason: reason, Message: failed.Error(),
		})
	}
	return status
}
