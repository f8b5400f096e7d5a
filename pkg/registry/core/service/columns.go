package service

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// serviceColumns makes the rows of kubectl get. They show the addresses and ports.
var serviceColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Type", printers.Doc(corev1.ServiceSpec{}, "type")),
		printers.Text("Cluster-IP", printers.Doc(corev1.ServiceSpec{}, "clusterIP")),
		printers.Text("External-IP", printers.Doc(corev1.ServiceSpec{}, "externalIPs")),
		printers.Text("Port(s)", printers.Doc(corev1.ServiceSpec{}, "ports")),
		printers.AgeColumn,
		printers.Wide(printers.Text("Selector", printers.Doc(corev1.ServiceSpec{}, "selector"))),
	},
	func(s *corev1.Service) []any {
		clusterIP := s.Spec.ClusterIP
		if len(s.Spec.ClusterIPs) > 0 {
			clusterIP = s.Spec.ClusterIPs[0]
		}
		return []any{
			s.Name, string(s.Spec.Type), cmp.Or(clusterIP, printers.None), externalIP(s),
			cmp.Or(printers.Joined(s.Spec.Ports, servicePort), printers.None),
			printers.Since(s.CreationTimestamp), labels.FormatLabels(s.Spec.Selector),
		}
	})

func externalIP(s *corev1.Service) string {
	external := strings.Join(s.Spec.ExternalIPs, ",")
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return cmp.Or(external, printers.None)
	case corev1.ServiceTypeLoadBalancer:
		var addresses []string
		for _, ingress := range s.Status.LoadBalancer.Ingress {
			addresses = append(addresses, cmp.Or(ingress.IP, ingress.Hostname))
		}
		return cmp.Or(strings.Join(append(printers.Distinct(addresses), s.Spec.ExternalIPs...), ","), "<pending>")
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	}
	return printers.Unknown
}

func servicePort(p *corev1.ServicePort) string {
	if p.NodePort > 0 {
		return fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol)
	}
	return fmt.Sprintf("%d/%s", p.Port, p.Protocol)
}
