package validation

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"
)

// NetworkPolicy checks a new policy.
func NetworkPolicy(o *networkingv1.NetworkPolicy) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(networkPolicySpec(&o.Spec, nil))
	return f.Errs
}

// NetworkPolicyUpdate checks a policy that replaces another.
func NetworkPolicyUpdate(o, old *networkingv1.NetworkPolicy) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	var stored []string
	for _, rule := range trafficRules(&old.Spec) {
		for _, peer := range rule.peers {
			if peer.IPBlock != nil {
				stored = append(append(stored, peer.IPBlock.CIDR), peer.IPBlock.Except...)
			}
		}
	}
	f.Merge(networkPolicySpec(&o.Spec, stored))
	return f.Errs
}

// trafficRule is a rule of either direction.
type trafficRule struct {
	path      *field.Path
	ports     []networkingv1.NetworkPolicyPort
	peersName string
	peers     []networkingv1.NetworkPolicyPeer
}

func trafficRules(spec *networkingv1.NetworkPolicySpec) []trafficRule {
	var rules []trafficRule
	for i, r := range spec.Ingress {
		rules = append(rules, trafficRule{field.NewPath("spec", "ingress").Index(i), r.Ports, "from", r.From})
	}
	for i, r := range spec.Egress {
		rules = append(rules, trafficRule{field.NewPath("spec", "egress").Index(i), r.Ports, "to", r.To})
	}
	return rules
}

func networkPolicySpec(spec *networkingv1.NetworkPolicySpec, stored []string) field.ErrorList {
	f := Findings{LabelSelector(field.NewPath("spec", "podSelector"), &spec.PodSelector)}
	for _, rule := range trafficRules(spec) {
		for i := range rule.ports {
			f.Merge(networkPolicyPort(rule.path.Child("ports").Index(i), &rule.ports[i]))
		}
		for i := range rule.peers {
			f.Merge(networkPolicyPeer(rule.path.Child(rule.peersName).Index(i), &rule.peers[i], stored))
		}
	}
	types := field.NewPath("spec", "policyTypes")
	known := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	if len(spec.PolicyTypes) > len(known) {
		f.Add(field.Invalid(types, &spec.PolicyTypes, "may not specify more than two policyTypes"))
		return f.Errs
	}
	for i, t := range spec.PolicyTypes {
		f.Merge(OneOf(types.Index(i), t, known...))
	}
	return f.Errs
}

func networkPolicyPort(path *field.Path, p *networkingv1.NetworkPolicyPort) field.ErrorList {
	f := Findings{OptionalOneOf(path.Child("protocol"), p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)}
	port, end := path.Child("port"), path.Child("endPort")
	switch {
	case p.Port == nil:
		f.AddIf(p.EndPort != nil, field.Invalid(end, p.EndPort, "may not be specified when `port` is not specified"))
	case p.Port.Type == intstr.String:
		f.AddIf(p.EndPort != nil, field.Invalid(end, p.EndPort, "may not be specified when `port` is non-numeric"))
		f.Merge(Follows(utilvalidation.IsValidPortName, port, p.Port.StrVal))
	default:
		f.Merge(PortNumber(port, p.Port.IntVal))
		if p.EndPort != nil {
			f.AddIf(*p.EndPort < p.Port.IntVal, field.Invalid(end, p.Port.IntVal, "must be greater than or equal to `port`"))
			f.Merge(PortNumber(end, *p.EndPort))
		}
	}
	return f.Errs
}

func networkPolicyPeer(path *field.Path, p *networkingv1.NetworkPolicyPeer, stored []string) field.ErrorList {
	var f Findings
	f.Merge(LabelSelector(path.Child("podSelector"), p.PodSelector),
		LabelSelector(path.Child("namespaceSelector"), p.NamespaceSelector))
	if p.IPBlock != nil {
		f.Merge(ipBlock(path.Child("ipBlock"), p.IPBlock, stored))
	}
	selects := p.PodSelector != nil || p.NamespaceSelector != nil
	f.AddIf(!selects && p.IPBlock == nil, field.Required(path, "must specify a peer"))
	f.AddIf(selects && p.IPBlock != nil, field.Forbidden(path, "may not specify both ipBlock and another peer"))
	return f.Errs
}

func ipBlock(path *field.Path, b *networkingv1.IPBlock, stored []string) field.ErrorList {
	if b.CIDR == "" {
		return field.ErrorList{field.Required(path.Child("cidr"), "")}
	}
	f := Findings{LegacyCIDR(path.Child("cidr"), b.CIDR, stored)}
	_, network, err := utilsnet.ParseCIDRSloppy(b.CIDR)
	if err != nil {
		return f.Errs
	}
	size, _ := network.Mask.Size()
	for i, except := range b.Except {
		path := path.Child("except").Index(i)
		f.Merge(LegacyCIDR(path, except, stored))
		_, part, err := utilsnet.ParseCIDRSloppy(except)
		if err != nil {
			continue
		}
		partSize, _ := part.Mask.Size()
		f.AddIf(!network.Contains(part.IP) || size >= partSize, field.Invalid(path, except, "must be a strict subset of `cidr`"))
	}
	return f.Errs
}
