package integration_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A node that isn't ready gets taints, and its pods are evicted when they don't tolerate the taints any longer.
func TestNodeThatIsNotReady(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("node-lifecycle-controller", "taint-eviction-controller"))
	client := kubernetes.NewForConfigOrDie(srv.Config())
	for _, name := range []string{"ready", "faulty"} {
		if _, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	for name, tolerations := range map[string][]corev1.Toleration{
		"patient":   nil, // admission lets it tolerate the taint for 5 minutes
		"impatient": {{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(0)), Effect: corev1.TaintEffectNoExecute}},
	} {
		if _, err := pods.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PodSpec{
				NodeName: "faulty", TerminationGracePeriodSeconds: new(int64(0)), Tolerations: tolerations, Containers: []corev1.Container{{Name: "c", Image: "i"}},
			},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	watched, err := pods.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watched.Stop)
	patch := []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	if _, err := client.CoreV1().Nodes().Patch(t.Context(), "faulty", types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	for event := range watched.ResultChan() {
		if event.Type == "DELETED" {
			pod := event.Object.(*corev1.Pod)
			if pod.Name != "impatient" || !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.DisruptionTarget && c.Reason == "DeletionByTaintManager"
			}) {
				t.Errorf("want pod impatient to be evicted, got pod %s with the conditions %v", pod.Name, pod.Status.Conditions)
			}
			break
		}
	}
	node, err := client.CoreV1().Nodes().Get(t.Context(), "faulty", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
		if !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeNotReady && taint.Effect == effect }) {
			t.Errorf("want the taint %s:%s, got %v", corev1.TaintNodeNotReady, effect, node.Spec.Taints)
		}
	}
	if _, err := pods.Get(t.Context(), "patient", metav1.GetOptions{}); err != nil {
		t.Errorf("want pod patient to stay, got %v", err)
	}
}
