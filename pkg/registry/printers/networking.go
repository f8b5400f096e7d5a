package printers

import (
	"cmp"
	"fmt"
	"strings"

	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// Ingress is shown by the hosts it is for and where it is reached.
var Ingress = Of(
	[]Column{
		NameColumn,
		Text("Class", "The name of the IngressClass resource that should be used for additional configuration"),
		Text("Hosts", "Hosts that incoming requests are matched against before the ingress rule"),
		Text("Address", "Address is a list containing ingress points for the load-balancer"),
		Text("Ports", "Ports of TLS configurations that open"),
		AgeColumn,
	},
	func(i *networkingv1.Ingress) []any {
		var addresses []string
		for _, ingress := range i.Status.LoadBalancer.Ingress {
			addresses = append(addresses, cmp.Or(ingress.IP, ingress.Hostname))
		}
		ports := "80"
		if len(i.Spec.TLS) > 0 {
			ports = "80, 443"
		}
		return []any{
			i.Name, ptr.Deref(i.Spec.IngressClassName, None), ingressHosts(i.Spec.Rules),
			strings.Join(Distinct(addresses), ","), ports, Since(i.CreationTimestamp),
		}
	})

// ingressHosts lists the first three hosts. What it says is more counts rules, those
// without a host among them.
func ingressHosts(rules []networkingv1.IngressRule) string {
	const most = 3
	var hosts []string
	for _, rule := range rules {
		if len(hosts) == most {
			return fmt.Sprintf("%s + %d more...", strings.Join(hosts, ","), len(rules)-most)
		}
		if rule.Host != "" {
			hosts = append(hosts, rule.Host)
		}
	}
	return cmp.Or(strings.Join(hosts, ","), "*")
}

// IngressClass, and the further kinds of the group that are shown by a few of their
// fields.
var (
	IngressClass = Of(
		[]Column{
			NameColumn,
			Text("Controller", "Controller that is responsible for handling this class"),
			Text("Parameters", "A reference to a resource with additional parameters"),
			AgeColumn,
		},
		func(c *networkingv1.IngressClass) []any {
			parameters := None
			if p := c.Spec.Parameters; p != nil {
				parameters = p.Kind
				if p.APIGroup != nil {
					parameters += "." + *p.APIGroup
				}
				parameters += "/" + p.Name
			}
			return []any{c.Name, c.Spec.Controller, parameters, Since(c.CreationTimestamp)}
		})

	NetworkPolicy = Of(
		[]Column{
			NameColumn,
			Text("Pod-Selector", Doc(extensionsv1beta1.NetworkPolicySpec{}, "podSelector")),
			AgeColumn,
		},
		func(p *networkingv1.NetworkPolicy) []any {
			return []any{p.Name, metav1.FormatLabelSelector(&p.Spec.PodSelector), Since(p.CreationTimestamp)}
		})

	ServiceCIDR = Of(
		[]Column{NameColumn, Text("CIDRs", Doc(networkingv1.ServiceCIDRSpec{}, "cidrs")), AgeColumn},
		func(c *networkingv1.ServiceCIDR) []any {
			return []any{c.Name, strings.Join(c.Spec.CIDRs, ","), Since(c.CreationTimestamp)}
		})

	// IPAddress has a cell more than it has columns: its age, which therefore isn't
	// shown. It is so in kube-apiserver.
	IPAddress = Of(
		[]Column{NameColumn, Text("ParentRef", Doc(networkingv1.IPAddressSpec{}, "parentRef"))},
		func(a *networkingv1.IPAddress) []any {
			parent := None
			if ref := a.Spec.ParentRef; ref != nil {
				resource := schema.GroupResource{Group: ref.Group, Resource: ref.Resource}
				parent = strings.ToLower(resource.String())
				if ref.Namespace != "" {
					parent += "/" + ref.Namespace
				}
				parent += "/" + ref.Name
			}
			return []any{a.Name, parent, Since(a.CreationTimestamp)}
		})
)
