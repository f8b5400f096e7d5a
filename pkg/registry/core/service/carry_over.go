package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// carryOver keeps what was allocated to a service when an update leaves it out, so that
// the manifest that a service was created from can be sent again.
func carryOver(s, old *corev1.Service) {
	if hasClusterIP(s) && hasClusterIP(old) {
		if s.Spec.ClusterIP == "" {
			s.Spec.ClusterIP = old.Spec.ClusterIP
		}
		if len(s.Spec.ClusterIPs) == 0 {
			s.Spec.ClusterIPs = slices.Clone(old.Spec.ClusterIPs)
		}
	}
	// A service that turns allocation off leaves out the node ports that it gives up.
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

// alignNewClusterIPs gives a new service that names clusterIP alone, as old clients do,
// the clusterIPs that go with it.
func alignNewClusterIPs(s *corev1.Service) {
	if s.Spec.ClusterIP != "" && len(s.Spec.ClusterIPs) == 0 {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
}

// alignClusterIPs does the same for an update: a client that changes one of clusterIP
// and clusterIPs, and knows nothing of the other, means both.
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
