package warnings

import (
	"context"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Ingress returns the warnings of an ingress, on create alone.
func Ingress(_ context.Context, i, old *networkingv1.Ingress) []string {
	_, annotated := i.Annotations["kubernetes.io/ingress.class"]
	if old != nil || !annotated || i.Spec.IngressClassName != nil {
		return nil
	}
	return []string{`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`}
}

// IngressStatus returns the warnings of an ingress's status.
func IngressStatus(_ context.Context, i, _ *networkingv1.Ingress) []string {
	var l List
	for n, ingress := range i.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			l.Ip(LoadBalancerPath.Index(n), ingress.IP)
		}
	}
	return l
}

// NetworkPolicy returns the warnings of a network policy.
func NetworkPolicy(_ context.Context, p, _ *networkingv1.NetworkPolicy) []string {
	var l List
	for i, rule := range p.Spec.Ingress {
		l.Peers(SpecPath.Child("ingress").Index(i).Child("from"), rule.From)
	}
	for i, rule := range p.Spec.Egress {
		l.Peers(SpecPath.Child("egress").Index(i).Child("to"), rule.To)
	}
	return l
}

// Peers warns of the ranges of addresses of peers.
func (l *List) Peers(path *field.Path, peers []networkingv1.NetworkPolicyPeer) {
	for i, peer := range peers {
		if peer.IPBlock == nil {
			continue
		}
		block := path.Index(i).Child("ipBlock")
		l.Cidr(block.Child("cidr"), peer.IPBlock.CIDR)
		for j, except := range peer.IPBlock.Except {
			l.Cidr(block.Child("except").Index(j), except)
		}
	}
}

// EndpointSlice returns the warnings of an endpoint slice. The addresses that the
// controllers write are known to be well-formed.
func EndpointSlice(_ context.Context, s, old *discoveryv1.EndpointSlice) []string {
	var l List
	if s.AddressType == discoveryv1.AddressTypeFQDN {
		if old == nil {
			// There is no spec in an EndpointSlice: the path is kube-apiserver's.
			l.At(SpecPath.Child("addressType"), "FQDN endpoints are deprecated")
		}
		return l
	}
	switch s.Labels[discoveryv1.LabelManagedBy] {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io":
		return l
	}
	for i, endpoint := range s.Endpoints {
		for j, address := range endpoint.Addresses {
			l.Ip(field.NewPath("endpoints").Index(i).Child("addresses").Index(j), address)
		}
	}
	return l
}
