package service

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// dropForType clears fields that the new type of a service doesn't use. If the update has changed such a field, the
// field stays, and validation refuses the update.
func dropForType(_ context.Context, s, old *corev1.Service) {
	spec, was := &s.Spec, &old.Spec
	// lost reports whether the stored service needs a field that the new service doesn't need.
	lost := func(needs func(*corev1.Service) bool) bool { return needs(old) && !needs(s) }

	if lost(hasClusterIP) {
		if spec.ClusterIP == was.ClusterIP && slices.Equal(spec.ClusterIPs, was.ClusterIPs) {
			spec.ClusterIP, spec.ClusterIPs = "", nil
		}
		if slices.Equal(spec.IPFamilies, was.IPFamilies) {
			spec.IPFamilies = nil
		}
		if ptr.Equal(spec.IPFamilyPolicy, was.IPFamilyPolicy) {
			spec.IPFamilyPolicy = nil
		}
	}
	if lost(hasNodePorts) && containsAll(nodePortsOf(old), nodePortsOf(s)) {
		for i := range spec.Ports {
			spec.Ports[i].NodePort = 0
		}
	}
	if lost(needsHealthCheckPort) && spec.HealthCheckNodePort == was.HealthCheckNodePort {
		spec.HealthCheckNodePort = 0
	}
	if lost(isLoadBalancerSpec) {
		if ptr.Equal(spec.AllocateLoadBalancerNodePorts, was.AllocateLoadBalancerNodePorts) {
			spec.AllocateLoadBalancerNodePorts = nil
		}
		if ptr.Equal(spec.LoadBalancerClass, was.LoadBalancerClass) {
			spec.LoadBalancerClass = nil
		}
	}
	if lost(reachedFromOutside) && spec.ExternalTrafficPolicy == was.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
	if !isLoadBalancerSpec(s) {
		s.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
}

func isLoadBalancerSpec(s *corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeLoadBalancer }

// reachedFromOutside reports whether traffic from outside of the cluster can reach a service.
func reachedFromOutside(s *corev1.Service) bool {
	return hasNodePorts(s) || s.Spec.Type == corev1.ServiceTypeClusterIP && len(s.Spec.ExternalIPs) > 0
}

func containsAll(set, values []int32) bool {
	for _, v := range values {
		if !slices.Contains(set, v) {
			return false
		}
	}
	return true
}
