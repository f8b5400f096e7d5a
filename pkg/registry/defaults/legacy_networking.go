package defaults

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
)

// NetworkingV1beta1Ingress sets the defaults of a networking.k8s.io/v1beta1 Ingress.
func NetworkingV1beta1Ingress(ing *networkingv1beta1.Ingress) {
	for i := range ing.Spec.Rules {
		if http := ing.Spec.Rules[i].HTTP; http != nil {
			for j := range http.Paths {
				Pointer(&http.Paths[j].PathType, networkingv1beta1.PathTypeImplementationSpecific)
			}
		}
	}
}

// ExtensionsV1beta1Ingress sets the defaults of an extensions/v1beta1 Ingress.
func ExtensionsV1beta1Ingress(ing *extensionsv1beta1.Ingress) {
	for i := range ing.Spec.Rules {
		if http := ing.Spec.Rules[i].HTTP; http != nil {
			for j := range http.Paths {
				Pointer(&http.Paths[j].PathType, extensionsv1beta1.PathTypeImplementationSpecific)
			}
		}
	}
}

// NetworkingV1beta1IngressClass sets the defaults of a networking.k8s.io/v1beta1
// IngressClass.
func NetworkingV1beta1IngressClass(c *networkingv1beta1.IngressClass) {
	if p := c.Spec.Parameters; p != nil {
		Pointer(&p.Scope, networkingv1beta1.IngressClassParametersReferenceScopeCluster)
	}
}

// ExtensionsV1beta1NetworkPolicy sets the defaults of an extensions/v1beta1
// NetworkPolicy.
func ExtensionsV1beta1NetworkPolicy(p *extensionsv1beta1.NetworkPolicy) {
	var ports [][]extensionsv1beta1.NetworkPolicyPort
	for i := range p.Spec.Ingress {
		ports = append(ports, p.Spec.Ingress[i].Ports)
	}
	for i := range p.Spec.Egress {
		ports = append(ports, p.Spec.Egress[i].Ports)
	}
	for _, list := range ports {
		for i := range list {
			Pointer(&list[i].Protocol, corev1.ProtocolTCP)
		}
	}
	if len(p.Spec.PolicyTypes) == 0 {
		p.Spec.PolicyTypes = []extensionsv1beta1.PolicyType{extensionsv1beta1.PolicyTypeIngress}
		if len(p.Spec.Egress) > 0 {
			p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, extensionsv1beta1.PolicyTypeEgress)
		}
	}
}

// DiscoveryV1beta1EndpointSlice sets the defaults of a discovery.k8s.io/v1beta1
// EndpointSlice.
func DiscoveryV1beta1EndpointSlice(s *discoveryv1beta1.EndpointSlice) {
	for i := range s.Ports {
		Pointer(&s.Ports[i].Name, "")
		Pointer(&s.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}
