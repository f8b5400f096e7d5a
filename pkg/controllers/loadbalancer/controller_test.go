package loadbalancer

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
)

func TestSync(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		change       func(*corev1.Service)
		want         string
	}{
		{"address", "the cluster IPs are the addresses", func(*corev1.Service) {}, "10.0.0.1 fd00::1"},
		{"chosen address", "the Service asks for it", func(s *corev1.Service) { s.Spec.LoadBalancerIP = "192.0.2.1" }, "192.0.2.1"},
		{"class", "the controller of the class gives the address", func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("example.com/lb") }, ""},
		{"other type", "the Service needs no load balancer", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }, ""},
		{"former type", "the Service has been of the type", func(s *corev1.Service) {
			s.Spec.Type = corev1.ServiceTypeClusterIP
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.0.0.1"}}
		}, ""},
		{"other address", "another client has written it", func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.com"}}
		}, "lb.example.com"},
		{"deleted", "the Service ends", func(s *corev1.Service) { s.DeletionTimestamp = new(metav1.Now()) }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", Finalizers: []string{"example.com/keep"}},
				Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ClusterIPs: []string{"10.0.0.1", "fd00::1"}},
			}
			test.change(service)
			client := fake.NewClientset(service)
			informer, err := controllertest.Informer(service)
			if err != nil {
				t.Fatal(err)
			}
			c := controller{
				Config:   Config{Client: client.CoreV1(), Events: eventrecorder.NewRecorder(t.Context(), client.CoreV1(), Component)},
				services: corelisters.NewServiceLister(informer.GetIndexer()),
			}
			if _, err := c.sync(t.Context(), "ns/s"); err != nil {
				t.Fatal(err)
			}
			stored, err := client.CoreV1().Services("ns").Get(t.Context(), "s", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range stored.Status.LoadBalancer.Ingress {
				got = append(got, i.IP+i.Hostname)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%s: want the addresses %q, got %q", test.reason, test.want, got)
			}
		})
	}
}
