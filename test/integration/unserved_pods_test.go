package integration_test

import (
	"context"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A deleted pod is removed after its grace period if its node doesn't exist or has no kubelet. It is removed at once if
// it has no node, or if its node has the taint out-of-service. A kubelet that renews its Lease removes its pods itself.
func TestDeletedPodsOfNodesWithoutKubelet(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("podgc"))
	client := srv.Client().CoreV1()
	for _, node := range []string{"bare", "served", "out-of-service"} {
		must(client.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{}))(t)
	}
	must(client.Nodes().Patch(t.Context(), "out-of-service", "application/strategic-merge-patch+json",
		[]byte(`{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","value":"nodeshutdown","effect":"NoExecute"}]}}`), metav1.PatchOptions{}))(t)
	now, hour := metav1.NowMicro(), int32(3600)
	must(srv.Client().CoordinationV1().Leases("kube-node-lease").Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "served"}, Spec: coordinationv1.LeaseSpec{RenewTime: &now, LeaseDurationSeconds: &hour},
	}, metav1.CreateOptions{}))(t)
	get := func(name string) func(context.Context) (*corev1.Pod, error) {
		return func(ctx context.Context) (*corev1.Pod, error) {
			return client.Pods("default").Get(ctx, name, metav1.GetOptions{})
		}
	}
	deleted := func(t *testing.T, name, node string, grace int64) {
		t.Helper()
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: &grace,
				Containers: []corev1.Container{{Name: "c", Image: "c"}}},
		}
		must(client.Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}))(t)
		ok(t, client.Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	for _, test := range []struct {
		name, reason, node string
		grace              int64
		stays              bool
	}{
		{"unbound", "no node has the pod", "", 3600, false},
		{"of-a-bare-node", "the node has no kubelet", "bare", 1, false},
		{"of-a-missing-node", "the node doesn't exist", "missing", 1, false},
		{"of-a-served-node", "the kubelet deletes the pod", "served", 1, true},
		{"in-its-grace-period", "the pod may still run", "bare", 3600, true},
		{"out-of-service", "the node is known to be down", "out-of-service", 3600, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			deleted(t, test.name, test.node, test.grace)
			if !test.stays {
				gone(t, test.name, get(test.name))
				return
			}
			// This pod is deleted later. Its removal shows that the controller has already handled the first pod.
			deleted(t, test.name+"-later", "bare", 1)
			gone(t, "the later pod", get(test.name+"-later"))
			if left, err := get(test.name)(t.Context()); err != nil || left.Status.Phase == corev1.PodFailed {
				t.Errorf("%s: want the pod to stay, got %v, %v", test.reason, left, err)
			}
		})
	}
}
