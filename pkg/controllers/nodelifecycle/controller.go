// Package nodelifecycle is the controller node-lifecycle-controller: it notices that a node has no kubelet any more, and
// gives nodes the taints of their conditions.
//
// [New] starts the controller. Unlike kube-controller-manager, it doesn't limit the rate at which nodes get a taint that
// evicts pods.
package nodelifecycle

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "node-controller"
	// Component is the source of the controller's Events.
	Component = "node-controller"

	// The values are kube-controller-manager's. A node whose kubelet reports nothing for monitorGrace is unreachable. A node
	// without a report has startupGrace from its creation.
	monitorGrace = 50 * time.Second
	startupGrace = 60 * time.Second

	// byNode is the name of the index of pods by node.
	byNode = "nodelifecycle-node"
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client interface {
		corev1client.NodesGetter
		corev1client.PodsGetter
	}
	Events *eventrecorder.Recorder
	// Nodes, Pods and Leases are the informers of nodes, pods and Leases.
	Nodes, Pods, Leases cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	m := &monitor{Config: config, health: map[string]health{}}
	m.queue = work.NewQueue(config.Runner, work.Options[string]{Name: Account, Do: m.sync})
	if err := config.Pods.AddIndexers(cache.Indexers{byNode: nodeOf}); err != nil {
		return err
	}
	return work.Enqueue(
		work.Events{Informer: config.Nodes, Changed: work.Named(m.queue.Add), Updated: m.updated, Deleted: m.deleted},
		work.Events{Informer: config.Leases, Changed: m.leaseChanged},
	)
}

type monitor struct {
	Config
	queue *work.Queue[string]

	mu     sync.Mutex
	health map[string]health
}

// health is what is known of the kubelet of a node.
type health struct {
	renewed, heartbeat time.Time // the times in the last Lease, and in the last condition Ready
	reported           time.Time // when one of these times changed
	ready              corev1.ConditionStatus
}

// nodeOf returns the name of a pod's node, for the index of pods by node.
func nodeOf(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		return []string{pod.Spec.NodeName}, nil
	}
	return nil, nil
}

// updated queues a node. If it has become ready, or isn't ready any more, it queues all nodes: whether a node may evict
// pods depends on the other nodes.
func (m *monitor) updated(before, after metav1.Object) {
	m.queue.Add(after.GetName())
	old, ok := before.(*corev1.Node)
	node, isNode := after.(*corev1.Node)
	if ok && isNode && (statusOf(old) == corev1.ConditionTrue) != (statusOf(node) == corev1.ConditionTrue) {
		m.queueAll()
	}
}

func (m *monitor) queueAll() {
	for _, name := range m.Nodes.GetStore().ListKeys() {
		m.queue.Add(name)
	}
}

func (m *monitor) deleted(o metav1.Object) {
	m.mu.Lock()
	delete(m.health, o.GetName())
	m.mu.Unlock()
	m.Events.Tell(reference(o), "RemovingNode", "Node %s event: Removing Node %s from Controller", o.GetName(), o.GetName())
	m.queueAll()
}

// reference returns a reference to a node, for Events.
func reference(node metav1.Object) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.GetName(), UID: node.GetUID()}
}

func (m *monitor) leaseChanged(o metav1.Object) {
	if lease, ok := o.(*coordinationv1.Lease); ok && lease.Namespace == corev1.NamespaceNodeLease {
		m.queue.Add(lease.Name)
	}
}

func (m *monitor) sync(ctx context.Context, name string) (time.Duration, error) {
	obj, exists, err := m.Nodes.GetStore().GetByKey(name)
	if err != nil || !exists {
		return 0, err
	}
	node := obj.(*corev1.Node)
	before, isNew, left := m.observe(node)
	if isNew {
		m.Events.Tell(reference(node), "RegisteredNode", "Node %s event: Registered Node %s in Controller", name, name)
	}
	if left <= 0 && statusOf(node) != corev1.ConditionUnknown {
		if node, err = m.loseContact(ctx, node); err != nil {
			return 0, work.IgnoreGone(err)
		}
	}
	if status := statusOf(node); status == corev1.ConditionUnknown && before == corev1.ConditionTrue {
		m.Events.Tell(reference(node), "NodeNotReady", "Node %s status is now: NodeNotReady", name)
		if err := m.markPods(ctx, name); err != nil {
			return 0, err
		}
	}
	m.remember(node)
	if err := m.update(ctx, node); err != nil {
		return 0, work.IgnoreGone(err)
	}
	if statusOf(node) == corev1.ConditionUnknown {
		return 0, nil // the next report of the kubelet is an event
	}
	return max(left, time.Millisecond), nil
}

// observe notes what the kubelet of a node has reported. It returns the former status of the condition Ready, whether the
// node is new, and the time that the kubelet has left for its next report.
func (m *monitor) observe(node *corev1.Node) (before corev1.ConditionStatus, isNew bool, left time.Duration) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	h, known := m.health[node.Name]
	grace := monitorGrace
	ready := readyOf(node)
	if ready == nil {
		grace = startupGrace
	}
	if !known {
		h.reported = now
		if ready == nil {
			h.reported = node.CreationTimestamp.Time
		}
	}
	if ready != nil && !ready.LastHeartbeatTime.Time.Equal(h.heartbeat) {
		h.heartbeat, h.reported = ready.LastHeartbeatTime.Time, now
	}
	obj, _, _ := m.Leases.GetStore().GetByKey(corev1.NamespaceNodeLease + "/" + node.Name)
	if lease, ok := obj.(*coordinationv1.Lease); ok && lease.Spec.RenewTime != nil && lease.Spec.RenewTime.After(h.renewed) {
		h.renewed, h.reported = lease.Spec.RenewTime.Time, now
	}
	m.health[node.Name] = h
	return h.ready, !known, grace - now.Sub(h.reported)
}

func (m *monitor) remember(node *corev1.Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.health[node.Name]
	h.ready = statusOf(node)
	m.health[node.Name] = h
}

func readyOf(node *corev1.Node) *corev1.NodeCondition {
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return nil
	}
	return &node.Status.Conditions[i]
}

// statusOf returns the status of a node's condition Ready, or "".
func statusOf(node *corev1.Node) corev1.ConditionStatus {
	if ready := readyOf(node); ready != nil {
		return ready.Status
	}
	return ""
}

// loseContact sets the conditions of a node without a kubelet to unknown.
func (m *monitor) loseContact(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	changed := node.DeepCopy()
	now := metav1.Now()
	for _, kind := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		i := slices.IndexFunc(changed.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
		if i < 0 {
			changed.Status.Conditions = append(changed.Status.Conditions, corev1.NodeCondition{
				Type: kind, Status: corev1.ConditionUnknown, Reason: "NodeStatusNeverUpdated", Message: "Kubelet never posted node status.",
				LastHeartbeatTime: node.CreationTimestamp, LastTransitionTime: now,
			})
			continue
		}
		if c := &changed.Status.Conditions[i]; c.Status != corev1.ConditionUnknown {
			c.Status, c.Reason, c.Message, c.LastTransitionTime = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.", now
		}
	}
	return m.Client.Nodes().UpdateStatus(ctx, changed, metav1.UpdateOptions{})
}

// markPods sets the condition Ready of a node's pods to false.
func (m *monitor) markPods(ctx context.Context, node string) error {
	pods, err := m.Pods.GetIndexer().ByIndex(byNode, node)
	if err != nil {
		return err
	}
	for _, obj := range pods {
		pod := obj.(*corev1.Pod).DeepCopy()
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
		if i < 0 || pod.Status.Conditions[i].Status == corev1.ConditionFalse {
			continue
		}
		pod.Status.Conditions[i].Status, pod.Status.Conditions[i].LastTransitionTime = corev1.ConditionFalse, metav1.Now()
		if _, err := m.Client.Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
			if err := work.IgnoreGone(err); err != nil {
				return fmt.Errorf("marking pod %s/%s as not ready: %w", pod.Namespace, pod.Name, err)
			}
			continue
		}
		m.Events.Warn(pod, "NodeNotReady", "Node is not ready")
	}
	return nil
}
