package service

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// serviceWith returns a service with one address and one port. It applies the function change to the service
// before defaulting.
func serviceWith(change func(*corev1.ServiceSpec)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: registrytest.Stored("service"), Spec: corev1.ServiceSpec{
		Ports:     []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}},
		ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1"},
		IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicySingleStack),
	}}
	change(&s.Spec)
	defaultService(s)
	return s
}

func TestService(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		change       func(*corev1.ServiceSpec)
		want         []string
	}{
		{
			name: "valid", reason: "the base of the other cases is valid",
			change: func(*corev1.ServiceSpec) {},
		},
		{
			name: "ports", reason: "several ports require names; the message shows kube-apiserver's internal type",
			change: func(s *corev1.ServiceSpec) {
				s.Ports = append(s.Ports, corev1.ServicePort{Name: "p", Port: 80, Protocol: "tcp", NodePort: 30000},
					corev1.ServicePort{Name: "p", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("too_bad")})
			},
			want: []string{
				"spec.ports[0].name: Required value",
				`spec.ports[1].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"`,
				`spec.ports[2].name: Duplicate value: "p"`,
				`spec.ports[2].targetPort: Invalid value: "too_bad": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
				"spec.ports[1].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
				`spec.ports[2]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}`,
			},
		},
		{
			name:   "ports are optional only for headless services and external names",
			reason: "only headless services and external names may have no ports",
			change: func(s *corev1.ServiceSpec) { s.Ports = nil },
			want:   []string{"spec.ports: Required value"},
		},
		{
			name: "external name", reason: "an external name has no addresses",
			change: func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeExternalName },
			want: []string{
				"spec.clusterIPs: Forbidden: may not be set for ExternalName services",
				"spec.ipFamilies: Forbidden: may not be set for ExternalName services",
				"spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services",
				"spec.externalName: Required value",
			},
		},
		{
			name: "families", reason: "the addresses match the IP families, and each family occurs once",
			change: func(s *corev1.ServiceSpec) {
				s.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, "IPv5"}
				s.ClusterIPs = []string{"10.0.0.1", "10.0.0.2"}
			},
			want: []string{
				`spec.ipFamilies[1]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"`,
				`spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family`,
				"spec.clusterIPs[0]: Invalid value: \"10.0.0.1\": expected an IPv6 value as indicated by `ipFamilies[0]`",
			},
		},
		{
			name: "addresses", reason: "an address is in canonical form, and an external address is not a loopback address",
			change: func(s *corev1.ServiceSpec) {
				s.ClusterIP, s.ClusterIPs = "10.0.0.01", []string{"10.0.0.01"}
				s.ExternalIPs = []string{"127.0.0.1"}
			},
			want: []string{
				`spec.clusterIPs[0]: Invalid value: "10.0.0.01": must not have leading 0s`,
				`spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
			},
		},
		{
			name: "load balancer", reason: "only load balancers have these fields",
			change: func(s *corev1.ServiceSpec) {
				s.LoadBalancerSourceRanges = []string{"10.0.0.1/8"}
				s.LoadBalancerClass = ptr.To("example.com/lb")
				s.AllocateLoadBalancerNodePorts = ptr.To(true)
				s.HealthCheckNodePort = 30000
				s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
			},
			want: []string{
				"spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
				`spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length`,
				"spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
				"spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
				`spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services`,
				"spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
			},
		},
		{
			name: "affinity", reason: "session affinity lasts for a day at most",
			change: func(s *corev1.ServiceSpec) {
				s.SessionAffinity = corev1.ServiceAffinityClientIP
				s.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To[int32](90000)}}
			},
			want: []string{"spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 90000: must be greater than 0 and less than 86400"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validateService(serviceWith(tc.change)), tc.want...)
		})
	}
}

func TestServiceStatusUpdate(t *testing.T) {
	t.Parallel()
	s := serviceWith(func(*corev1.ServiceSpec) {})
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "h"}}
	registrytest.WantErrors(t, "a service that isn't a load balancer has no load balancer's addresses",
		validateServiceStatusUpdate(s, serviceWith(func(*corev1.ServiceSpec) {})),
		"status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'")
}

func TestServiceUpdate(t *testing.T) {
	t.Parallel()
	same := func(*corev1.ServiceSpec) {}
	second := func(s *corev1.ServiceSpec) {
		s.ClusterIPs = append(s.ClusterIPs, "fd00::1")
		s.IPFamilies = append(s.IPFamilies, corev1.IPv6Protocol)
		s.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyPreferDualStack)
	}
	for _, tc := range []struct {
		name, reason string
		from, to     func(*corev1.ServiceSpec)
		want         []string
	}{
		{
			name: "address", reason: "the first address can't change",
			from: same,
			to: func(s *corev1.ServiceSpec) {
				s.ClusterIP, s.ClusterIPs = "10.0.0.2", []string{"10.0.0.2"}
			},
			want: []string{`spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set`},
		},
		{
			name: "no address", reason: "the first address can't be removed",
			from: same,
			to:   func(s *corev1.ServiceSpec) { s.ClusterIP, s.ClusterIPs = "", nil },
			want: []string{`spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset`},
		},
		{name: "upgrade", reason: "an update can add a second IP family", from: same, to: second},
		{
			name: "downgrade", reason: "the second IP family is removed only with the policy SingleStack",
			from: second,
			to:   func(s *corev1.ServiceSpec) { s.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyPreferDualStack) },
			want: []string{
				`spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to 'SingleStack' when releasing the secondary clusterIP`,
				`spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to 'SingleStack' when releasing the secondary ipFamily`,
			},
		},
		{
			name: "becomes a name", reason: "a service that becomes an external name loses its addresses",
			from: same,
			to: func(s *corev1.ServiceSpec) {
				*s = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com."}
			},
		},
		{
			name:   "an update accepts an unchanged address that a newer validation rule refuses",
			reason: "an address that is older than a rule stays valid",
			from:   func(s *corev1.ServiceSpec) { s.ExternalIPs = []string{"192.168.000.001"} },
			to:     func(s *corev1.ServiceSpec) { s.ExternalIPs = []string{"192.168.000.001"} },
		},
		{
			name: "empty source range", reason: "no stored service has an empty range that could stay",
			from: same,
			to:   func(s *corev1.ServiceSpec) { s.LoadBalancerSourceRanges = []string{""} },
			want: []string{
				"spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
				`spec.LoadBalancerSourceRanges[0]: Invalid value: "": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validateServiceUpdate(serviceWith(tc.to), serviceWith(tc.from)), tc.want...)
		})
	}
}
