package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
)

// defaultService sets the defaults of a Service. It doesn't set cluster IPs, IP families and node ports: the
// storage allocates them later.
func defaultService(s *corev1.Service) {
	spec := &s.Spec
	defaults.Zero(&spec.Type, corev1.ServiceTypeClusterIP)
	defaultSessionAffinity(spec)
	for i := range spec.Ports {
		port := &spec.Ports[i]
		defaults.Zero(&port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == (intstr.IntOrString{}) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}

	var internal, external bool
	switch spec.Type {
	case corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		internal, external = true, true
	case corev1.ServiceTypeClusterIP:
		internal, external = true, len(spec.ExternalIPs) > 0
	}
	if internal {
		defaults.Pointer(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if external {
		defaults.Zero(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		defaults.Pointer(&spec.AllocateLoadBalancerNodePorts, true)
		for i := range s.Status.LoadBalancer.Ingress {
			if ingress := &s.Status.LoadBalancer.Ingress[i]; ingress.IP != "" {
				defaults.Pointer(&ingress.IPMode, corev1.LoadBalancerIPModeVIP)
			}
		}
	}
}

func defaultSessionAffinity(spec *corev1.ServiceSpec) {
	defaults.Zero(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		defaults.Pointer(&spec.SessionAffinityConfig, corev1.SessionAffinityConfig{})
		defaults.Pointer(&spec.SessionAffinityConfig.ClientIP, corev1.ClientIPConfig{})
		defaults.Pointer(&spec.SessionAffinityConfig.ClientIP.TimeoutSeconds, corev1.DefaultClientIPServiceAffinitySeconds)
	}
}
