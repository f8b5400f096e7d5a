package nodelifecycle

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
)

func nodeWith(name string, ready corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Now()}, Spec: corev1.NodeSpec{Taints: taints}}
	if ready != "" {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	}
	return node
}

// newMonitor returns a controller that knows the nodes, and its client.
func newMonitor(t *testing.T, nodes []*corev1.Node, pods ...*corev1.Pod) (*monitor, *fake.Clientset) {
	t.Helper()
	var objects []runtime.Object
	for _, node := range nodes {
		objects = append(objects, node)
	}
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	client := fake.NewSimpleClientset(objects...)
	nodeInformer, err := controllertest.Informer(nodes...)
	if err != nil {
		t.Fatal(err)
	}
	podInformer, err := controllertest.Informer(pods...)
	if err != nil {
		t.Fatal(err)
	}
	if err := podInformer.AddIndexers(cache.Indexers{byNode: nodeOf}); err != nil {
		t.Fatal(err)
	}
	leases, err := controllertest.Informer[*coordinationv1.Lease]()
	if err != nil {
		t.Fatal(err)
	}
	return &monitor{
		Config: Config{Client: client.CoreV1(), Nodes: nodeInformer, Pods: podInformer, Leases: leases,
			Events: eventrecorder.NewRecorder(t.Context(), client.CoreV1(), Component)},
		health: map[string]health{},
	}, client
}

func keysOf(taints []corev1.Taint) (keys []string) {
	for _, taint := range taints {
		keys = append(keys, taint.Key+":"+string(taint.Effect))
	}
	return keys
}

// A node has the taints of its conditions, and keeps those that others have given it.
func TestTaints(t *testing.T) {
	t.Parallel()
	const notReady, unreachable = corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable
	taint := func(key string, effect corev1.TaintEffect) corev1.Taint {
		return corev1.Taint{Key: key, Effect: effect}
	}
	pressed := nodeWith("n", corev1.ConditionTrue)
	pressed.Status.Conditions = append(pressed.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue})
	cordoned := nodeWith("n", corev1.ConditionTrue)
	cordoned.Spec.Unschedulable = true
	for _, test := range []struct {
		name, reason string
		node         *corev1.Node
		want         []string
	}{
		{"ready", "the kubelet is ready", nodeWith("n", corev1.ConditionTrue, taint(notReady, corev1.TaintEffectNoSchedule), taint(notReady, corev1.TaintEffectNoExecute)), nil},
		{"not ready", "the kubelet says so", nodeWith("n", corev1.ConditionFalse), []string{notReady + ":NoSchedule", notReady + ":NoExecute"}},
		{"unreachable", "the kubelet says nothing", nodeWith("n", corev1.ConditionUnknown, taint(notReady, corev1.TaintEffectNoExecute)),
			[]string{unreachable + ":NoSchedule", unreachable + ":NoExecute"}},
		{"pressure", "the node is short of memory", pressed, []string{corev1.TaintNodeMemoryPressure + ":NoSchedule"}},
		{"cordoned", "a user says so", cordoned, []string{corev1.TaintNodeUnschedulable + ":NoSchedule"}},
		{"foreign", "it isn't the controller's", nodeWith("n", corev1.ConditionTrue, taint("example.com/k", corev1.TaintEffectNoExecute)), []string{"example.com/k:NoExecute"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, client := newMonitor(t, []*corev1.Node{test.node, nodeWith("other", corev1.ConditionTrue)})
			if _, err := m.sync(t.Context(), "n"); err != nil {
				t.Fatal(err)
			}
			node, err := client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, keysOf(node.Spec.Taints)); diff != "" {
				t.Errorf("%s: the taints differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// If many nodes aren't ready, a node doesn't evict its pods.
func TestDisruption(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason    string
		ready, notReady int
		want            bool
	}{
		{"one of two", "the node alone is faulty", 1, 1, true},
		{"all", "the fault is elsewhere", 0, 2, false},
		{"most of a small zone", "the zone is disrupted", 1, 3, false},
		{"few of a small zone", "most nodes are ready", 5, 3, true},
		{"most of a large zone", "its pods are many", 20, 40, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var nodes []*corev1.Node
			for i := range test.ready + test.notReady {
				status := corev1.ConditionUnknown
				if i < test.ready {
					status = corev1.ConditionTrue
				}
				nodes = append(nodes, nodeWith(fmt.Sprintf("n%d", i), status))
			}
			m, _ := newMonitor(t, nodes)
			if got := m.mayEvict(nodes[len(nodes)-1]); got != test.want {
				t.Errorf("%s: want %t, got %t", test.reason, test.want, got)
			}
		})
	}
}

// A node whose kubelet reports nothing becomes unreachable, and its pods aren't ready.
func TestLostNode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		ready        corev1.ConditionStatus
		grace        time.Duration
		cause        string
	}{
		{"silent", "the kubelet has stopped", corev1.ConditionTrue, monitorGrace, "NodeStatusUnknown"},
		{"never heard of", "the kubelet hasn't started", "", startupGrace, "NodeStatusNeverUpdated"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"},
					Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
				m, client := newMonitor(t, []*corev1.Node{nodeWith("n", test.ready), nodeWith("other", corev1.ConditionTrue)}, pod)
				again, err := m.sync(t.Context(), "n")
				if err != nil || again != test.grace {
					t.Fatalf("want another look after %s, got %s, %v", test.grace, again, err)
				}
				// A renewed Lease is a report.
				time.Sleep(test.grace / 2) //nolint:forbidigo // the time is that of the bubble
				lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: "n"}, Spec: coordinationv1.LeaseSpec{RenewTime: new(metav1.NowMicro())}}
				if err := m.Leases.GetStore().Add(lease); err != nil {
					t.Fatal(err)
				}
				if again, err := m.sync(t.Context(), "n"); err != nil || again != test.grace {
					t.Fatalf("want another look after %s, got %s, %v", test.grace, again, err)
				}
				time.Sleep(test.grace) //nolint:forbidigo // the time is that of the bubble
				if _, err := m.sync(t.Context(), "n"); err != nil {
					t.Fatal(err)
				}
				node, err := client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if ready := readyOf(node); ready == nil || ready.Status != corev1.ConditionUnknown || ready.Reason != test.cause {
					t.Errorf("%s: want the reason %s, got %v", test.reason, test.cause, ready)
				}
				got, err := client.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if want := test.ready == ""; (got.Status.Conditions[0].Status == corev1.ConditionTrue) != want {
					t.Errorf("want the pod to be ready: %t, got %v", want, got.Status.Conditions)
				}
			})
		})
	}
}
