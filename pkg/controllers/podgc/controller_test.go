package podgc

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
)

// podOf returns a pod. If grace isn't 0, the pod is being deleted, and its grace period ends after that time.
func podOf(node string, phase corev1.PodPhase, grace time.Duration) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"}, Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
	if grace != 0 {
		pod.DeletionTimestamp = new(metav1.NewTime(time.Now().Add(grace)))
	}
	return pod
}

// A pod that is deleted without a grace period is removed by the request. The controller neither patches nor deletes the
// pod, but checks that it is gone. A finalizer keeps the pod.
func TestPodThatIsBeingRemoved(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		grace        int64
		finalizers   []string
		want         bool
	}{
		{"no grace period", "the request removes the pod", 0, nil, true},
		{"grace period", "the pod stays until its grace period is over", 1, nil, false},
		{"finalizer", "the pod stays until the finalizer is removed", 0, []string{"example.com/f"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := podOf("", corev1.PodPending, -notice)
			pod.DeletionGracePeriodSeconds, pod.Finalizers = &test.grace, test.finalizers
			client := fake.NewSimpleClientset(pod)
			pods, err := controllertest.Informer(pod)
			if err != nil {
				t.Fatal(err)
			}
			c := &collector{Config: Config{Client: client.CoreV1(), Pods: pods}}
			again, err := c.check(t.Context(), "ns/p")
			if err != nil {
				t.Fatal(err)
			}
			if left := again == checkPeriod && len(client.Actions()) == 0; left != test.want {
				t.Errorf("%s: want the pod to be left alone: %t, got a check after %s and the writes %v", test.reason, test.want, again, controllertest.Writes(client.Actions()))
			}
		})
	}
}

// nodes returns the nodes that exist. The nodes "out" and "ready" have the taint out-of-service. "ready" is also ready.
func nodes() []*corev1.Node {
	out := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "out"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeOutOfService}}}}
	ready := out.DeepCopy()
	ready.Name = "ready"
	ready.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return []*corev1.Node{out, ready, {ObjectMeta: metav1.ObjectMeta{Name: "served"}}, {ObjectMeta: metav1.ObjectMeta{Name: "bare"}}}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	deleted, failed := []string{"delete pods ns/p"}, []string{"patch pods/status ns/p", "delete pods ns/p"}
	for _, test := range []struct {
		name, reason string
		node         string
		phase        corev1.PodPhase
		grace        time.Duration
		missing      time.Duration // the time for which the controller has known that the node is missing
		want         []string
		again        time.Duration
	}{
		{"unbound", "a scheduler may bind the pod", "", corev1.PodPending, 0, 0, nil, 0},
		{"unbound, deleted", "the controller of a finalizer finds the pod pending", "", corev1.PodPending, -notice / 4, 0, nil, notice - notice/4},
		{"unbound, deleted before", "no kubelet has the pod", "", corev1.PodPending, -notice, 0, failed, 0},
		{"bound", "the pod runs", "bare", corev1.PodRunning, 0, 0, nil, 0},
		{"deleted", "the grace period of the pod isn't over", "bare", corev1.PodRunning, 30 * time.Second, 0, nil, 30 * time.Second},
		{"over", "no kubelet ends the pod", "bare", corev1.PodRunning, -time.Second, 0, failed, 0},
		{"over, ended", "the phase of a pod that has ended stays", "bare", corev1.PodSucceeded, -time.Second, 0, deleted, 0},
		{"over, kubelet", "the kubelet ends the pod", "served", corev1.PodRunning, -time.Second, 0, nil, checkPeriod},
		{"out of service", "a user says that the node is gone", "out", corev1.PodRunning, time.Hour, 0, failed, 0},
		{"taint alone", "a ready node has a kubelet", "ready", corev1.PodRunning, 30 * time.Second, 0, nil, 30 * time.Second},
		{"node missing", "the node may be created soon", "none", corev1.PodRunning, 0, 10 * time.Second, nil, 30 * time.Second},
		{"node missing for long", "the node is gone", "none", corev1.PodRunning, 0, quarantine, failed, 0},
		{"node missing, over", "no kubelet ends the pod", "none", corev1.PodRunning, -time.Second, 0, failed, 0},
		{"node missing, deleted", "the grace period of the pod ends before the quarantine of the node", "none",
			corev1.PodRunning, 5 * time.Second, 0, nil, 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				pod := podOf(test.node, test.phase, test.grace)
				lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: "served"}, Spec: coordinationv1.LeaseSpec{RenewTime: new(metav1.NowMicro())}}
				client := fake.NewSimpleClientset(pod)
				if test.node == "served" {
					if err := client.Tracker().Add(lease); err != nil {
						t.Fatal(err)
					}
				}
				pods, err := controllertest.Informer(pod)
				if err != nil {
					t.Fatal(err)
				}
				known, err := controllertest.Informer(nodes()...)
				if err != nil {
					t.Fatal(err)
				}
				c := &collector{Config: Config{Client: client.CoreV1(), Leases: client.CoordinationV1(), Pods: pods, Nodes: known}, missing: map[string]time.Time{}}
				if test.missing > 0 {
					c.missing[test.node] = time.Now().Add(-test.missing)
				}
				again, err := c.check(t.Context(), "ns/p")
				if err != nil || again != test.again {
					t.Errorf("%s: want the pod to be looked at again after %s, got %s, %v", test.reason, test.again, again, err)
				}
				if diff := cmp.Diff(test.want, controllertest.Writes(client.Actions())); diff != "" {
					t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
				}
			})
		})
	}
}

// When the last pod of a missing node is deleted, the controller forgets the node. So the quarantine begins anew for a
// later pod on the node.
func TestQuarantineBeginsAnew(t *testing.T) {
	t.Parallel()
	first, second := podOf("none", corev1.PodRunning, 0), podOf("none", corev1.PodRunning, 0)
	second.Name = "second"
	pods, err := controllertest.Informer(first, second)
	if err != nil {
		t.Fatal(err)
	}
	if err := pods.AddIndexers(cache.Indexers{byNode: nodeOf}); err != nil {
		t.Fatal(err)
	}
	c := &collector{Config: Config{Pods: pods}, missing: map[string]time.Time{"none": time.Now().Add(-quarantine)}}
	for i, pod := range []*corev1.Pod{first, second} {
		if err := pods.GetStore().Delete(pod); err != nil {
			t.Fatal(err)
		}
		c.podDeleted(pod)
		if _, missing := c.missing["none"]; missing != (i == 0) {
			t.Errorf("after the deletion of pod %s: the node is remembered as missing: %t", pod.Name, missing)
		}
	}
}

// A Lease expires when its duration has passed since its last renewal.
func TestLeaseOfKubelet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		lasts        *int32
		ago          time.Duration
		want         bool
	}{
		{"renewed", "the kubelet runs", new(int32(40)), 39 * time.Second, true},
		{"not renewed", "the kubelet has ended", new(int32(40)), 40 * time.Second, false},
		{"long", "the Lease has its own duration", new(int32(100)), 99 * time.Second, true},
		{"no duration", "the default is the duration of a kubelet's Lease", nil, 39 * time.Second, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewSimpleClientset(&coordinationv1.Lease{
					ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: "n"},
					Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: test.lasts,
						RenewTime: new(metav1.NewMicroTime(time.Now().Add(-test.ago)))},
				})
				c := &collector{Config: Config{Leases: client.CoordinationV1()}}
				if got, err := c.hasKubelet(t.Context(), "n"); err != nil || got != test.want {
					t.Errorf("%s: want %t, got %t, %v", test.reason, test.want, got, err)
				}
			})
		})
	}
}

// Evicted pods are deleted first, then the oldest.
func TestOlder(t *testing.T) {
	t.Parallel()
	ended := func(name, reason string, created int64) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(created, 0)},
			Status:     corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason},
		}
	}
	pods := []*corev1.Pod{ended("new", "", 3), ended("b", "", 1), ended("a", "", 1), ended("evicted", "Evicted", 2)}
	slices.SortFunc(pods, older)
	var got []string
	for _, pod := range pods {
		got = append(got, pod.Name)
	}
	if diff := cmp.Diff([]string{"evicted", "a", "b", "new"}, got); diff != "" {
		t.Errorf("the order differs (-want +got):\n%s", diff)
	}
}
