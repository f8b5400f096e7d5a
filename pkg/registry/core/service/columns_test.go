package service_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestServiceColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, core.Group), []registrytest.ColumnsCase{
		{
			Name: "headless", Reason: "the cluster IP None is shown like an address",
			Object: &corev1.Service{ObjectMeta: registrytest.MonthOld("x"), Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, ClusterIP: "None", ClusterIPs: []string{"None"},
			}},
			Want: []any{"x", "ClusterIP", "None", "<none>", "<none>", "30d", "<none>"},
		},
		{
			Name: "load balancer", Reason: "the sorted addresses of the load balancer come before the external IPs",
			Object: &corev1.Service{
				ObjectMeta: registrytest.MonthOld("x"),
				Spec: corev1.ServiceSpec{
					Type: corev1.ServiceTypeLoadBalancer, ClusterIPs: []string{"192.0.2.9"}, ExternalIPs: []string{"198.51.100.1"},
					Selector: map[string]string{"k": "v"},
					Ports:    []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: "TCP"}, {Port: 53, Protocol: "UDP"}},
				},
				Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{
					{Hostname: "lb.example.com"}, {IP: "203.0.113.1", Hostname: "ignored"}, {},
				}}},
			},
			Want: []any{
				"x", "LoadBalancer", "192.0.2.9", "203.0.113.1,lb.example.com,198.51.100.1", "80:30080/TCP,53/UDP", "30d", "k=v",
			},
		},
		{
			Name: "pending load balancer", Reason: "a load balancer without an address is pending",
			Object: &corev1.Service{ObjectMeta: registrytest.MonthOld("x"),
				Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}},
			Want: []any{"x", "LoadBalancer", "<none>", "<pending>", "<none>", "30d", "<none>"},
		},
		{
			Name: "external name", Reason: "the external name is shown in the column of external IPs",
			Object: &corev1.Service{ObjectMeta: registrytest.MonthOld("x"), Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeExternalName, ExternalName: "example.com",
			}},
			Want: []any{"x", "ExternalName", "<none>", "example.com", "<none>", "30d", "<none>"},
		},
	})
}
