package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

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
	if needsHealthCheckPort(s) && needsHealthCheckPort(old) && s.Spec.HealthCheckNodePort == 0 {
		s.Spec.HealthCheckNodePort = old.Spec.HealthCheckNodePort
	}
}

// carryOverNodePorts copies node ports between service ports of the same name, unless the update uses the node port
// already. Other fields may differ.
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
