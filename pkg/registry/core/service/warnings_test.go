package service_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestServiceWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, core.Group), []registrytest.WriteCase{
		{
			Name: "headless", Reason: "fields for services with an address have no effect",
			Object: &corev1.Service{Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, ClusterIP: "None", ClusterIPs: []string{"None"},
				SessionAffinity: corev1.ServiceAffinityClientIP, LoadBalancerIP: "192.0.2.1", ExternalIPs: []string{"192.0.2.1"},
			}},
			Want: []string{
				"spec.loadBalancerIP is ignored for headless services",
				"spec.externalIPs is ignored for headless services",
				"spec.SessionAffinity is ignored for headless services",
			},
		},
		{
			Name: "external name", Reason: "an external name has no addresses",
			Object: &corev1.Service{Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeExternalName, ExternalName: "x", ExternalIPs: []string{"192.0.2.1"},
			}},
			Want: []string{`spec.externalIPs is ignored when spec.type is "ExternalName"`},
		},
		{
			Name: "headless without affinity", Reason: "None is the default of the affinity and gets no warning",
			Object: &corev1.Service{Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, ClusterIP: "None", SessionAffinity: corev1.ServiceAffinityNone,
			}},
		},
		{
			Name: "addresses", Reason: "all fields with addresses are checked for their canonical form",
			Object: &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"service.kubernetes.io/topology-aware-hints": "x"}},
				Spec: corev1.ServiceSpec{
					Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "2001:DB8::1", ClusterIPs: []string{"2001:DB8::1"},
					ExternalIPs: []string{"2001:DB8::2"}, LoadBalancerSourceRanges: []string{"192.0.2.1/24"}, ExternalName: "x",
					TrafficDistribution: ptr.To(corev1.ServiceTrafficDistributionPreferClose),
				},
			},
			Want: []string{
				"annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead",
				`spec.clusterIPs[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`,
				`spec.externalIPs[0]: IPv6 address "2001:DB8::2" should be in RFC 5952 canonical format ("2001:db8::2")`,
				"spec.externalIPs is deprecated and may no longer be implemented in some clusters",
				`spec.loadBalancerSourceRanges[0]: CIDR value "192.0.2.1/24" is ambiguous in this context (should be "192.0.2.0/24" or "192.0.2.1/32"?)`,
				`spec.externalName is ignored when spec.type is not "ExternalName"`,
				`spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`,
			},
		},
		{
			Name: "status", Reason: "the path names the index of the ingress",
			Object: &corev1.Service{Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{
				Ingress: []corev1.LoadBalancerIngress{{Hostname: "h"}, {IP: "::A"}},
			}}},
			Old:    &corev1.Service{},
			Status: true,
			Want:   []string{`status.loadBalancer.ingress[1]: IPv6 address "::A" should be in RFC 5952 canonical format ("::a")`},
		},
	})
}
