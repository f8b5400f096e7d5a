package podgc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "pod-garbage-collector"

	// The values are the same as in kube-controller-manager. checkPeriod is the time between two checks of a pod.
	// quarantine is the time for which a node must be missing before the controller deletes its pods.
	// maxTerminated is the number of ended pods that are kept.
	checkPeriod   = 20 * time.Second
	quarantine    = 40 * time.Second
	maxTerminated = 12500

	// notice is the time for which a deleted pod without a node stays pending, so that the controller of its finalizer
	// sees it. The time of the deletion has whole seconds. kube-controller-manager's next check comes within checkPeriod.
	notice = 2 * time.Second

	// defaultLease is the duration of a kubelet's Lease that has no leaseDurationSeconds.
	defaultLease = 40 * time.Second
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client corev1client.CoreV1Interface
	// Leases reads the Leases of kubelets.
	Leases coordinationv1client.LeasesGetter
	// Pods and Nodes are the informers of pods and nodes.
	Pods, Nodes cache.SharedIndexInformer
}

// byNode is the name of the index of pods by node.
const byNode = "podgc-node"

// New starts the controller.
func New(config Config) error {
	c := &collector{Config: config, missing: map[string]time.Time{}}
	c.queue = work.NewQueue(config.Runner, work.Options[string]{Name: "pod-garbage-collector-controller", Workers: 5, Do: c.check})
	if err := config.Pods.AddIndexers(cache.Indexers{byNode: nodeOf}); err != nil {
		return err
	}
	return work.Enqueue(
		work.Events{Informer: config.Pods, Changed: c.changed, Deleted: c.podDeleted},
		work.Events{Informer: config.Nodes, Changed: work.Named(c.nodeChanged), Deleted: work.Named(c.queuePods)},
	)
}

// nodeOf returns the name of a pod's node, for the index of pods by node.
func nodeOf(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil, nil
	}
	return []string{pod.Spec.NodeName}, nil
}

type collector struct {
	Config
	queue *work.Queue[string]

	mu      sync.Mutex
	missing map[string]time.Time // the time at which a node with pods was found missing, by the node's name
}

// changed queues a pod that the controller may have to delete: the pod is being deleted, has ended, or has a node.
func (c *collector) changed(o metav1.Object) {
	if pod, ok := o.(*corev1.Pod); ok && (pod.DeletionTimestamp != nil || hasEnded(pod) || pod.Spec.NodeName != "") {
		c.queue.Add(cache.MetaObjectToName(pod).String())
	}
}

// podDeleted forgets since when a node is missing, if the pod was the last one on that node. Otherwise a later pod on
// the node would be deleted without the quarantine.
func (c *collector) podDeleted(o metav1.Object) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	keys, err := c.Pods.GetIndexer().IndexKeys(byNode, pod.Spec.NodeName)
	if err != nil || len(keys) > 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.missing, pod.Spec.NodeName)
}

func (c *collector) nodeChanged(node string) {
	c.mu.Lock()
	delete(c.missing, node)
	c.mu.Unlock()
	c.queuePods(node)
}

// missingFor returns the time since its first call for a missing node.
func (c *collector) missingFor(node string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, known := c.missing[node]
	if !known {
		since = time.Now()
		c.missing[node] = since
	}
	return time.Since(since)
}

// queuePods queues the pods of a node.
func (c *collector) queuePods(node string) {
	keys, err := c.Pods.GetIndexer().IndexKeys(byNode, node)
	if err != nil {
		return // the error is impossible: the index exists
	}
	for _, key := range keys {
		c.queue.Add(key)
	}
}

// isBeingRemoved reports whether the request that deleted the pod is about to remove it: a deletion without a grace period
// marks a pod without finalizers, and then removes it. The pod stays only if the server ends in between.
func isBeingRemoved(pod *corev1.Pod) bool {
	grace := pod.DeletionGracePeriodSeconds
	return pod.DeletionTimestamp != nil && grace != nil && *grace == 0 && len(pod.Finalizers) == 0
}

func hasEnded(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodPending, corev1.PodRunning, corev1.PodUnknown:
		return false
	}
	return true
}

// check deletes the pod with the key if no kubelet will delete the pod. If the pod has ended, check first deletes
// ended pods until at most maxTerminated are left. If the pod stays, check returns the time after which the pod
// must be checked again, or 0 for never.
func (c *collector) check(ctx context.Context, key string) (time.Duration, error) {
	obj, exists, err := c.Pods.GetStore().GetByKey(key)
	if err != nil || !exists {
		return 0, err
	}
	pod := obj.(*corev1.Pod)
	if isBeingRemoved(pod) {
		return checkPeriod, nil
	}
	if hasEnded(pod) {
		if err := c.limitEnded(ctx); err != nil {
			return 0, err
		}
	}
	if pod.Spec.NodeName == "" {
		if pod.DeletionTimestamp == nil {
			return 0, nil
		}
		if left := time.Until(pod.DeletionTimestamp.Add(notice)); left > 0 {
			return left, nil
		}
		return 0, c.delete(ctx, pod, nil)
	}
	node, exists, err := c.Nodes.GetStore().GetByKey(pod.Spec.NodeName)
	if err != nil {
		return 0, err
	}
	if !exists {
		return c.checkOrphan(ctx, pod)
	}
	if pod.DeletionTimestamp == nil {
		return 0, nil
	}
	if isOutOfService(node.(*corev1.Node)) {
		return 0, c.delete(ctx, pod, nil)
	}
	return c.checkTerminating(ctx, pod)
}

// checkOrphan checks a pod whose node doesn't exist. A terminating pod is deleted when its grace period is over, if no
// kubelet renews the Lease of the node. Any pod is deleted when its node has been missing for the time quarantine.
func (c *collector) checkOrphan(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	if pod.DeletionTimestamp != nil {
		if again, err := c.checkTerminating(ctx, pod); again == 0 || err != nil {
			return again, err
		}
	}
	missing := c.missingFor(pod.Spec.NodeName)
	if missing < quarantine {
		return c.sooner(pod, quarantine-missing), nil
	}
	_, err := c.Client.Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return checkPeriod, err
	}
	return 0, c.delete(ctx, pod, &corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		ObservedGeneration: pod.Generation,
		Status:             corev1.ConditionTrue,
		Reason:             "DeletionByPodGC",
		Message:            "PodGC: node no longer exists",
	})
}

// checkTerminating removes a terminating pod, if its grace period is over and its node has no kubelet.
func (c *collector) checkTerminating(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	if grace := time.Until(pod.DeletionTimestamp.Time); grace > 0 {
		return grace, nil
	}
	served, err := c.hasKubelet(ctx, pod.Spec.NodeName)
	if err != nil || served {
		return checkPeriod, err
	}
	return 0, c.delete(ctx, pod, nil)
}

// sooner returns the time after which a pod must be checked again: the argument after, or the time until the end of the
// pod's grace period if this time is shorter.
func (c *collector) sooner(pod *corev1.Pod, after time.Duration) time.Duration {
	if pod.DeletionTimestamp == nil {
		return after
	}
	return min(after, max(time.Until(pod.DeletionTimestamp.Time), time.Millisecond))
}

// hasKubelet reports whether a kubelet runs on a node. A kubelet counts as running while the Lease of the node is
// valid.
func (c *collector) hasKubelet(ctx context.Context, node string) (bool, error) {
	named := fields.OneTermEqualSelector(metav1.ObjectNameField, node).String()
	leases, err := c.Leases.Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{FieldSelector: named})
	if err != nil {
		return false, fmt.Errorf("the Lease of node %s: %w", node, err)
	}
	return slices.ContainsFunc(leases.Items, func(l coordinationv1.Lease) bool {
		lasts := defaultLease
		if s := l.Spec.LeaseDurationSeconds; s != nil {
			lasts = time.Duration(*s) * time.Second
		}
		return l.Spec.RenewTime != nil && time.Since(l.Spec.RenewTime.Time) < lasts
	}), nil
}

func isOutOfService(node *corev1.Node) bool {
	isReady := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	return !isReady && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}

// limitEnded deletes ended pods, so that at most maxTerminated ended pods are left. It deletes evicted pods first,
// and then the oldest pods.
func (c *collector) limitEnded(ctx context.Context) error {
	all := c.Pods.GetStore()
	if len(all.ListKeys()) <= maxTerminated {
		return nil
	}
	var ended []*corev1.Pod
	for _, obj := range all.List() {
		if pod, ok := obj.(*corev1.Pod); ok && hasEnded(pod) {
			ended = append(ended, pod)
		}
	}
	slices.SortFunc(ended, older)
	for _, pod := range ended[:max(0, len(ended)-maxTerminated)] {
		if err := c.delete(ctx, pod, nil); err != nil {
			return err
		}
	}
	return nil
}

// older compares ended pods. The pod that limitEnded deletes first comes first.
func older(a, b *corev1.Pod) int {
	isEvicted := func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "Evicted"
	}
	switch aIs, bIs := isEvicted(a), isEvicted(b); {
	case aIs && !bIs:
		return -1
	case bIs && !aIs:
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// delete deletes a pod at once, without a grace period. If the pod hasn't ended, delete first sets its phase to
// Failed.
func (c *collector) delete(ctx context.Context, pod *corev1.Pod, condition *corev1.PodCondition) error {
	pods := c.Client.Pods(pod.Namespace)
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		patch, err := failed(pod, condition)
		if err != nil {
			return err
		}
		if _, err := pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return work.IgnoreStale(err)
		}
	}
	now := int64(0)
	return work.IgnoreStale(pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID}}))
}

// failed returns a patch that sets the phase of a pod to Failed, and the condition if it isn't nil.
func failed(pod *corev1.Pod, condition *corev1.PodCondition) ([]byte, error) {
	before, err := json.Marshal(corev1.Pod{Status: pod.Status})
	if err != nil {
		return nil, err
	}
	after := corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Status: *pod.Status.DeepCopy()}
	after.Status.Phase, after.Status.ObservedGeneration = corev1.PodFailed, pod.Generation
	if condition != nil {
		condition.LastTransitionTime = metav1.Now()
		i := slices.IndexFunc(after.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type })
		if i < 0 {
			after.Status.Conditions = append(after.Status.Conditions, *condition)
		} else {
			if after.Status.Conditions[i].Status == condition.Status {
				condition.LastTransitionTime = after.Status.Conditions[i].LastTransitionTime
			}
			after.Status.Conditions[i] = *condition
		}
	}
	changed, err := json.Marshal(after)
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(before, changed, corev1.Pod{})
}
