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
var Ingress = of(
	[]column{
		nameColumn,
		text("Class", "The name of the IngressClass resource that should be used for additional configuration"),
		text("Hosts", "Hosts that incoming requests are matched against before the ingress rule"),
		text("Address", "Address is a list containing ingress points for the load-balancer"),
		text("Ports", "Ports of TLS configurations that open"),
		ageColumn,
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
			i.Name, ptr.Deref(i.Spec.IngressClassName, none), ingressHosts(i.Spec.Rules),
			strings.Join(distinct(addresses), ","), ports, since(i.CreationTimestamp),
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
	IngressClass = of(
		[]column{
			nameColumn,
			text("Controller", "Controller that is responsible for handling this class"),
			text("Parameters", "A reference to a resource with additional parameters"),
			ageColumn,
		},
		func(c *networkingv1.IngressClass) []any {
			parameters := none
			if p := c.Spec.Parameters; p != nil {
				parameters = p.Kind
				if p.APIGroup != nil {
					parameters += "." + *p.APIGroup
				}
				parameters += "/" + p.Name
			}
			return []any{c.Name, c.Spec.Controller, parameters, since(c.CreationTimestamp)}
		})

	NetworkPolicy = of(
		[]column{
			nameColumn,
			text("Pod-Selector", doc(extensionsv1beta1.NetworkPolicySpec{}, "podSelector")),
			ageColumn,
		},
		func(p *networkingv1.NetworkPolicy) []any {
			return []any{p.Name, metav1.FormatLabelSelector(&p.Spec.PodSelector), since(p.CreationTimestamp)}
		})

	ServiceCIDR = of(
		[]column{nameColumn, text("CIDRs", doc(networkingv1.ServiceCIDRSpec{}, "cidrs")), ageColumn},
		func(c *networkingv1.ServiceCIDR) []any {
			return []any{c.Name, strings.Join(c.Spec.CIDRs, ","), since(c.CreationTimestamp)}
		})

	// IPAddress has a cell more than it has columns: its age, which therefore isn't
	// shown. It is so in kube-apiserver.
	IPAddress = of(
		[]column{nameColumn, text("ParentRef", doc(networkingv1.IPAddressSpec{}, "parentRef"))},
		func(a *networkingv1.IPAddress) []any {
			parent := none
			if ref := a.Spec.ParentRef; ref != nil {
				resource := schema.GroupResource{Group: ref.Group, Resource: ref.Resource}
				parent = strings.ToLower(resource.String())
				if ref.Namespace != "" {
					parent += "/" + ref.Namespace
				}
				parent += "/" + ref.Name
			}
			return []any{a.Name, parent, since(a.CreationTimestamp)}
		})
)
