package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// carryOver copies allocated addresses and ports from the old service to an update that leaves them out. Therefore
// a client can send the manifest again that it has created the service from.
func carryOver(s, old *corev1.Service) {
	if hasClusterIP(s) && hasClusterIP(old) {
		if s.Spec.ClusterIP == "" {
			s.Spec.ClusterIP = old.Spec.ClusterIP
		}
		if len(s.Spec.ClusterIPs) == 0 {
			s.Spec.ClusterIPs = slices.Clone(old.Spec.ClusterIPs)
		}
	}
	// An update that turns off the allocation of node ports releases the ports that it leaves out.
	if allocatesNodePorts(s) && allocatesNodePorts(old) {
		carryOverNodePorts(s, old)
	}
	if needsHealthCheckPort(s) && needsHealthCheckPort(old) && s.Spec.HealthCheckNodePort == 0 {
		s.Spec.HealthCheckNodePort = old.Spec.HealthCheckNodePort
	}
}

// carryOverNodePorts matches ports by name, even if their other fields change.
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

// alignNewClusterIPs sets clusterIPs of a new service to clusterIP if a client sets clusterIP alone, as old clients
// do.
func alignNewClusterIPs(s *corev1.Service) {
	if s.Spec.ClusterIP != "" && len(s.Spec.ClusterIPs) == 0 {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
}

// alignClusterIPs does the same for an update: if a client changes only one of clusterIP and clusterIPs, the other
// one follows.
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
