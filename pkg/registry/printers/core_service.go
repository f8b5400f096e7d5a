package printers

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Service is shown by where it is reached.
var Service = Of(
	[]Column{
		NameColumn,
		Text("Type", Doc(corev1.ServiceSpec{}, "type")),
		Text("Cluster-IP", Doc(corev1.ServiceSpec{}, "clusterIP")),
		Text("External-IP", Doc(corev1.ServiceSpec{}, "externalIPs")),
		Text("Port(s)", Doc(corev1.ServiceSpec{}, "ports")),
		AgeColumn,
		Wide(Text("Selector", Doc(corev1.ServiceSpec{}, "selector"))),
	},
	func(s *corev1.Service) []any {
		clusterIP := s.Spec.ClusterIP
		if len(s.Spec.ClusterIPs) > 0 {
			clusterIP = s.Spec.ClusterIPs[0]
		}
		return []any{
			s.Name, string(s.Spec.Type), cmp.Or(clusterIP, None), externalIP(s),
			cmp.Or(Joined(s.Spec.Ports, servicePort), None),
			Since(s.CreationTimestamp), labels.FormatLabels(s.Spec.Selector),
		}
	})

func externalIP(s *corev1.Service) string {
	external := strings.Join(s.Spec.ExternalIPs, ",")
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return cmp.Or(external, None)
	case corev1.ServiceTypeLoadBalancer:
		var addresses []string
		for _, ingress := range s.Status.LoadBalancer.Ingress {
			addresses = append(addresses, cmp.Or(ingress.IP, ingress.Hostname))
		}
		return cmp.Or(strings.Join(append(Distinct(addresses), s.Spec.ExternalIPs...), ","), "<pending>")
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	}
	return Unknown
}

// Distinct sorts texts and leaves out empty and repeated ones.
func Distinct(texts []string) []string {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	slices.Sort(texts)
	return slices.Compact(texts)
}

func servicePort(p *corev1.ServicePort) string {
	if p.NodePort > 0 {
		return fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol)
	}
	return fmt.Sprintf("%d/%s", p.Port, p.Protocol)
}

// Endpoints are shown by the first of the addresses that are ready.
var Endpoints = Of(
	[]Column{NameColumn, Text("Endpoints", Doc(corev1.Endpoints{}, "subsets")), AgeColumn},
	func(e *corev1.Endpoints) []any {
		addresses := None
		if len(e.Subsets) > 0 {
			addresses = First(3, endpointAddresses(e.Subsets), ",")
		}
		return []any{e.Name, addresses, Since(e.CreationTimestamp)}
	})

// endpointAddresses are the ready addresses with each of their ports. A headless
// service may have no port.
func endpointAddresses(subsets []corev1.EndpointSubset) []string {
	var addresses []string
	for _, subset := range subsets {
		if len(subset.Ports) == 0 {
			for _, address := range subset.Addresses {
				addresses = append(addresses, address.IP)
			}
		}
		for _, port := range subset.Ports {
			for _, address := range subset.Addresses {
				addresses = append(addresses, net.JoinHostPort(address.IP, strconv.Itoa(int(port.Port))))
			}
		}
	}
	return addresses
}
