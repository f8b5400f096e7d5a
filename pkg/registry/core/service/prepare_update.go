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
	if lost(needsHealthCheck) && spec.HealthCheckNodePort == was.HealthCheckNodePort {
		spec.HealthCheckNodePort = 0
	}
	if lost(isLoadBalancer) {
		if ptr.Equal(spec.AllocateLoadBalancerNodePorts, was.AllocateLoadBalancerNodePorts) {
			spec.AllocateLoadBalancerNodePorts = nil
		}
		if ptr.Equal(spec.LoadBalancerClass, was.LoadBalancerClass) {
			spec.LoadBalancerClass = nil
		}
	}
	if lost(externallyAccessible) && spec.ExternalTrafficPolicy == was.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
	if !isLoadBalancer(s) {
		s.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
}

func containsAll(set, values []int32) bool {
	for _, v := range values {
		if !slices.Contains(set, v) {
			return false
		}
	}
	return true
}

// carryOver copies addresses and ports from the stored service to an update that leaves them out. So a client can
// update a service with the manifest from which it has created it.
func carryOver(s, old *corev1.Service) {
	if hasClusterIP(s) && hasClusterIP(old) {
		if s.Spec.ClusterIP == "" {
			s.Spec.ClusterIP = old.Spec.ClusterIP
		}
		if len(s.Spec.ClusterIPs) == 0 {
			s.Spec.ClusterIPs = slices.Clone(old.Spec.ClusterIPs)
		}
	}
	// If the update turns off the allocation of node ports, the node ports that the update leaves out aren't
	// copied: the server releases them.
	if allocatesNodePorts(s) && allocatesNodePorts(old) {
		carryOverNodePorts(s, old)
	}
	if needsHealthCheck(s) && needsHealthCheck(old) && s.Spec.HealthCheckNodePort == 0 {
		s.Spec.HealthCheckNodePort = old.Spec.HealthCheckNodePort
	}
}

// carryOverNodePorts sets the node ports that an update leaves out. A port gets the node port of the stored port with
// the same name, even if other fields of the two ports differ. It gets none if another port of the update has that node
// port.
func carryOverNodePorts(s, old *corev1.Service) {
	named := map[string]int32{}
	for _, p := range old.Spec.Ports {
		named[p.Name] = p.NodePort
	}
	given := nodePortsOf(s)
	for i := range s.Spec.Ports {
		port := &s.Spec.Ports[i]
		if number := named[port.Name]; port.NodePort == 0 && !slices.Contains(given, number) {
			port.NodePort = number
		}
	}
}

// alignNewClusterIPs sets clusterIPs of a new service from clusterIP, if the client has set only clusterIP. Old
// clients don't send clusterIPs.
func alignNewClusterIPs(s *corev1.Service) {
	if s.Spec.ClusterIP != "" && len(s.Spec.ClusterIPs) == 0 {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
}

// alignClusterIPs sets clusterIPs in an update that changes only clusterIP, or that leaves out only clusterIPs. It
// never changes clusterIP.
func alignClusterIPs(s, old *corev1.Service) {
	if len(s.Spec.ClusterIPs) == 0 && s.Spec.ClusterIP == old.Spec.ClusterIP {
		s.Spec.ClusterIPs = slices.Clone(old.Spec.ClusterIPs)
	}
	if s.Spec.ClusterIP == old.Spec.ClusterIP || !slices.Equal(s.Spec.ClusterIPs, old.Spec.ClusterIPs) {
		return
	}
	s.Spec.ClusterIPs = nil
	if s.Spec.ClusterIP != "" {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
}
