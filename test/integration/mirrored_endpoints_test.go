package integration_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Endpoints of a Service without a selector are mirrored, and those of the server aren't.
func TestMirroredEndpoints(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t, miniapitest.WithWorkloads()).Client()
	must(client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 5432}}},
	}, metav1.CreateOptions{}))(t)
	endpoints := must(client.CoreV1().Endpoints("default").Create(t.Context(), &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Subsets:    []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}}, Ports: []corev1.EndpointPort{{Port: 5432}}}},
	}, metav1.CreateOptions{}))(t)
	mirrors := func(want ...string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			slices, err := client.DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{
				LabelSelector: discoveryv1.LabelManagedBy + "=endpointslicemirroring-controller.k8s.io",
			})
			if err != nil {
				return err
			}
			got := []string{}
			for _, slice := range slices.Items {
				got = append(got, slice.Labels[discoveryv1.LabelServiceName]+"="+slice.Endpoints[0].Addresses[0])
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("want the mirrors %v, got %v", want, got)
			}
			return nil
		})
	}
	mirrors("db=192.0.2.1")
	endpoints.Subsets[0].Addresses[0].IP = "192.0.2.2"
	must(client.CoreV1().Endpoints("default").Update(t.Context(), endpoints, metav1.UpdateOptions{}))(t)
	mirrors("db=192.0.2.2")
	ok(t, client.CoreV1().Services("default").Delete(t.Context(), "db", metav1.DeleteOptions{}))
	mirrors()
}
