package integration_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// With workloads, a Service of type LoadBalancer gets an address. The address goes with the type.
func TestLoadBalancers(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithWorkloads())
	services := srv.Client().CoreV1().Services("default")
	service := must(services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}))(t)
	address := service.Spec.ClusterIP
	for _, test := range []struct {
		spec   corev1.ServiceType
		points int
	}{{corev1.ServiceTypeLoadBalancer, 1}, {corev1.ServiceTypeClusterIP, 0}} {
		eventually(t, func(ctx context.Context) error {
			service.Spec.Type = test.spec
			found, err := services.Update(ctx, service, metav1.UpdateOptions{})
			if err != nil {
				service = must(services.Get(ctx, "web", metav1.GetOptions{}))(t)
				return err
			}
			service = found
			points := found.Status.LoadBalancer.Ingress
			if len(points) != test.points || len(points) > 0 && points[0].IP != address {
				return fmt.Errorf("type %s: want %d points with the address %s, got %v", test.spec, test.points, address, points)
			}
			return nil
		})
	}
}
