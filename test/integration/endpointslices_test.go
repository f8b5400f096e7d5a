package integration_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The EndpointSlices of a Service follow its pods.
func TestEndpointSlicesOfServices(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("endpointslice-controller"))
	client := kubernetes.NewForConfigOrDie(srv.Config())
	createNodes(t, client, 1)
	labels := map[string]string{"app": "web"}
	if _, err := client.CoreV1().Services(metav1.NamespaceDefault).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	watched, err := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Watch(t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watched.Stop)
	if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: "node-0", TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{{Name: "c", Image: "i"}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	status := []byte(`{"status":{"podIP":"10.1.0.1","podIPs":[{"ip":"10.1.0.1"}],"conditions":[{"type":"Ready","status":"True"}]}}`)
	if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).Patch(t.Context(), "web", types.StrategicMergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	await := func(what string, holds func([]discoveryv1.Endpoint) bool) {
		t.Helper()
		for event := range watched.ResultChan() {
			if slice, ok := event.Object.(*discoveryv1.EndpointSlice); ok && holds(slice.Endpoints) {
				return
			}
		}
		t.Fatalf("%s: no EndpointSlice says so", what)
	}
	await("the pod is ready", func(endpoints []discoveryv1.Endpoint) bool {
		return len(endpoints) == 1 && *endpoints[0].Conditions.Ready && endpoints[0].TargetRef.Name == "web"
	})
	if err := client.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await("the pod is gone", func(endpoints []discoveryv1.Endpoint) bool { return len(endpoints) == 0 })
}
