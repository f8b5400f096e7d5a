package networking

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// networkPolicyKind is the row of networkpolicies in the server's table of kinds.
var networkPolicyKind = registry.Kind{
	Resource:   "networkpolicies",
	ShortNames: []string{"netpol"},
	Namespaced: true,
	Object:     &networkingv1.NetworkPolicy{}, List: &networkingv1.NetworkPolicyList{},
	Defaults: []registry.Default{registry.DefaultOf(defaultNetworkPolicy),
		registry.DefaultLike[extensionsv1beta1.NetworkPolicy](defaultNetworkPolicy)},
	Generation: true,
	Printer:    &networkPolicyColumns,
	Hooks: registry.HooksOf[*networkingv1.NetworkPolicy]{
		// Unlike for most kinds, an empty list isn't the same as none.
		SpecChanged:    func(p, old *networkingv1.NetworkPolicy) bool { return !reflect.DeepEqual(p.Spec, old.Spec) },
		Validate:       validateNetworkPolicy,
		ValidateUpdate: validateNetworkPolicyUpdate,
		Warnings:       networkPolicyWarnings,
	},
}

// defaultNetworkPolicy sets the defaults of a NetworkPolicy. By default, a policy applies to ingress. It applies to
// egress too if it has egress rules.
func defaultNetworkPolicy(p *networkingv1.NetworkPolicy) {
	for i := range p.Spec.Ingress {
		networkPolicyPorts(p.Spec.Ingress[i].Ports)
	}
	for i := range p.Spec.Egress {
		networkPolicyPorts(p.Spec.Egress[i].Ports)
	}
	if len(p.Spec.PolicyTypes) == 0 {
		p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(p.Spec.Egress) > 0 {
			p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
}

func networkPolicyPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		defaults.Pointer(&ports[i].Protocol, corev1.ProtocolTCP)
	}
}

func validateNetworkPolicy(o *networkingv1.NetworkPolicy) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(networkPolicySpec(&o.Spec, nil))
	return f.Errs
}

// validateNetworkPolicyUpdate checks an update of a NetworkPolicy. A malformed address range in the stored policy stays
// valid (KEP-4858).
func validateNetworkPolicyUpdate(o, old *networkingv1.NetworkPolicy) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
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

// trafficRule is an ingress rule or an egress rule.
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
	f := validation.Findings{Errs: validation.LabelSelector(field.NewPath("spec", "podSelector"), &spec.PodSelector)}
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
		f.Merge(validation.OneOf(types.Index(i), t, known...))
	}
	return f.Errs
}

func networkPolicyPort(path *field.Path, p *networkingv1.NetworkPolicyPort) field.ErrorList {
	f := validation.Findings{Errs: validation.OptionalOneOf(path.Child("protocol"), p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)}
	port, end := path.Child("port"), path.Child("endPort")
	switch {
	case p.Port == nil:
		f.AddIf(p.EndPort != nil, field.Invalid(end, p.EndPort, "may not be specified when `port` is not specified"))
	case p.Port.Type == intstr.String:
		f.AddIf(p.EndPort != nil, field.Invalid(end, p.EndPort, "may not be specified when `port` is non-numeric"))
		f.Merge(validation.Follows(utilvalidation.IsValidPortName, port, p.Port.StrVal))
	default:
		f.Merge(validation.PortNumber(port, p.Port.IntVal))
		if p.EndPort != nil {
			f.AddIf(*p.EndPort < p.Port.IntVal, field.Invalid(end, *p.EndPort, "must be greater than or equal to `port`"))
			f.Merge(validation.PortNumber(end, *p.EndPort))
		}
	}
	return f.Errs
}

func networkPolicyPeer(path *field.Path, p *networkingv1.NetworkPolicyPeer, stored []string) field.ErrorList {
	var f validation.Findings
	f.Merge(validation.LabelSelector(path.Child("podSelector"), p.PodSelector),
		validation.LabelSelector(path.Child("namespaceSelector"), p.NamespaceSelector))
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
		return nil
	}
	f := validation.Findings{Errs: validation.LegacyCIDR(path.Child("cidr"), b.CIDR, stored)}
	_, network, err := utilsnet.ParseCIDRSloppy(b.CIDR)
	if err != nil {
		return f.Errs
	}
	size, _ := network.Mask.Size()
	for i, except := range b.Except {
		path := path.Child("except").Index(i)
		f.Merge(validation.LegacyCIDR(path, except, stored))
		_, part, err := utilsnet.ParseCIDRSloppy(except)
		if err != nil {
			continue
		}
		partSize, _ := part.Mask.Size()
		f.AddIf(!network.Contains(part.IP) || size >= partSize, field.Invalid(path, except, "must be a strict subset of `cidr`"))
	}
	return f.Errs
}

var networkPolicyColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Pod-Selector", printers.Doc(networkingv1.NetworkPolicySpec{}, "podSelector")),
		printers.AgeColumn,
	},
	func(p *networkingv1.NetworkPolicy) []any {
		return []any{p.Name, metav1.FormatLabelSelector(&p.Spec.PodSelector), printers.Since(p.CreationTimestamp)}
	})

// networkPolicyWarnings warns of address ranges that aren't written in their canonical form.
func networkPolicyWarnings(_ context.Context, p, _ *networkingv1.NetworkPolicy) []string {
	var l warnings.List
	for i, rule := range p.Spec.Ingress {
		peerWarnings(&l, warnings.SpecPath.Child("ingress").Index(i).Child("from"), rule.From)
	}
	for i, rule := range p.Spec.Egress {
		peerWarnings(&l, warnings.SpecPath.Child("egress").Index(i).Child("to"), rule.To)
	}
	return l
}

// peerWarnings warns of address ranges that aren't written in their canonical form, in the peers of a rule.
func peerWarnings(l *warnings.List, path *field.Path, peers []networkingv1.NetworkPolicyPeer) {
	for i, peer := range peers {
		if peer.IPBlock == nil {
			continue
		}
		block := path.Index(i).Child("ipBlock")
		l.CIDR(block.Child("cidr"), peer.IPBlock.CIDR)
		for j, except := range peer.IPBlock.Except {
			l.CIDR(block.Child("except").Index(j), except)
		}
	}
}
