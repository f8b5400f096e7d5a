// Package tainteviction is the controller taint-eviction-controller: it deletes the pods of a node that don't tolerate a
// taint of the effect NoExecute, or whose toleration of it is over.
//
// [New] starts the controller.
package tainteviction

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "node-controller"
	// Component is the source of the controller's Events.
	Component = "taint-eviction-controller"

	// workers is the number of pods that are handled at the same time.
	workers = 8

	// byNode is the name of the index of pods by node.
	byNode = "tainteviction-node"
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client corev1client.PodsGetter
	Events *eventrecorder.Recorder
	// Nodes and Pods are the informers of nodes and pods.
	Nodes, Pods cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	e := &evictor{Config: config, since: map[string]time.Time{}}
	e.queue = work.NewQueue(config.Runner, work.Options[string]{Name: Component, Workers: workers, Do: e.sync})
	if err := config.Pods.AddIndexers(cache.Indexers{byNode: nodeOf}); err != nil {
		return err
	}
	return work.Enqueue(
		work.Events{Informer: config.Nodes, Changed: e.nodeAdded, Updated: e.nodeUpdated},
		work.Events{Informer: config.Pods, Changed: e.podChanged, Deleted: e.podDeleted},
	)
}

// nodeOf returns the name of a pod's node, for the index of pods by node.
func nodeOf(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		return []string{pod.Spec.NodeName}, nil
	}
	return nil, nil
}

type evictor struct {
	Config
	queue *work.Queue[string]

	mu    sync.Mutex
	since map[string]time.Time // when the toleration of a pod that will be evicted began, by the pod's key
}

func (e *evictor) nodeAdded(o metav1.Object) {
	if node, ok := o.(*corev1.Node); ok && len(evicting(node)) > 0 {
		e.queuePods(node.Name)
	}
}

func (e *evictor) nodeUpdated(before, after metav1.Object) {
	old, ok := before.(*corev1.Node)
	node, isNode := after.(*corev1.Node)
	if ok && isNode && !slices.EqualFunc(evicting(old), evicting(node), func(a, b corev1.Taint) bool { return a.Key == b.Key && a.Value == b.Value }) {
		e.queuePods(node.Name)
	}
}

func (e *evictor) queuePods(node string) {
	keys, err := e.Pods.GetIndexer().IndexKeys(byNode, node)
	if err != nil {
		return // the error is impossible: the index exists
	}
	for _, key := range keys {
		e.queue.Add(key)
	}
}

// podChanged queues a pod on a node with taints.
func (e *evictor) podChanged(o metav1.Object) {
	if pod, ok := o.(*corev1.Pod); ok && len(e.taintsOf(pod)) > 0 {
		e.queue.Add(cache.MetaObjectToName(pod).String())
	}
}

func (e *evictor) podDeleted(o metav1.Object) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.since, cache.MetaObjectToName(o).String())
}

func (e *evictor) taintsOf(pod *corev1.Pod) []corev1.Taint {
	obj, _, _ := e.Nodes.GetStore().GetByKey(pod.Spec.NodeName)
	if node, ok := obj.(*corev1.Node); ok {
		return evicting(node)
	}
	return nil
}

// evicting returns the taints of a node that evict pods.
func evicting(node *corev1.Node) (taints []corev1.Taint) {
	for _, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoExecute {
			taints = append(taints, taint)
		}
	}
	return taints
}

// tolerated returns how long a pod tolerates taints. It returns false if there is no limit.
func tolerated(pod *corev1.Pod, taints []corev1.Taint) (lasts time.Duration, limited bool) {
	for i := range taints {
		j := slices.IndexFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Background(), &taints[i], false) })
		if j < 0 {
			return 0, true
		}
		if seconds := pod.Spec.Tolerations[j].TolerationSeconds; seconds != nil {
			if d := time.Duration(max(*seconds, 0)) * time.Second; !limited || d < lasts {
				lasts, limited = d, true
			}
		}
	}
	return lasts, limited
}

// sync evicts a pod when its toleration is over. A pod that is evicted later is looked at again then.
func (e *evictor) sync(ctx context.Context, key string) (time.Duration, error) {
	obj, exists, err := e.Pods.GetStore().GetByKey(key)
	if err != nil || !exists {
		return 0, err
	}
	pod := obj.(*corev1.Pod)
	lasts, limited := tolerated(pod, e.taintsOf(pod))
	now := time.Now()
	e.mu.Lock()
	since, waits := e.since[key]
	switch {
	case !limited:
		delete(e.since, key)
	case !waits:
		since = now
		e.since[key] = now
	}
	e.mu.Unlock()
	switch left := since.Add(lasts).Sub(now); {
	case !limited && waits:
		e.tell(pod, "Cancelling deletion of")
	case limited && left > 0:
		return left, nil
	case limited && pod.DeletionTimestamp == nil:
		return 0, e.evict(ctx, pod)
	}
	return 0, nil
}

func (e *evictor) evict(ctx context.Context, pod *corev1.Pod) error {
	e.tell(pod, "Marking for deletion")
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, ObservedGeneration: pod.Generation, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
			Reason: "DeletionByTaintManager", Message: "Taint manager: deleting due to NoExecute taint",
		}}},
	})
	if err != nil {
		return err
	}
	pods := e.Client.Pods(pod.Namespace)
	if _, err := pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return work.IgnoreStale(err)
	}
	return work.IgnoreStale(pods.Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}))
}

// tell records what is done to a pod. The Event doesn't have the UID of the pod, as that of kube-controller-manager.
func (e *evictor) tell(pod *corev1.Pod, what string) {
	reference := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
	e.Events.Tell(reference, "TaintManagerEviction", "%s Pod %s", what, cache.MetaObjectToName(pod))
}
