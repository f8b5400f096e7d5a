package networking

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// ingressKind is the row of ingresses in the server's table of kinds.
var ingressKind = registry.Kind{
	Resource:   "ingresses",
	ShortNames: []string{"ing"},
	Namespaced: true,
	Object:     &networkingv1.Ingress{}, List: &networkingv1.IngressList{},
	Defaults: []registry.Default{registry.DefaultOf(defaultIngressV1beta1),
		registry.DefaultLike[extensionsv1beta1.Ingress](defaultIngressV1beta1)},
	StoragePrefix: "ingress",
	Status:        true,
	Generation:    true,
	Printer:       &ingressColumns,
	Hooks: registry.HooksOf[*networkingv1.Ingress]{
		Validate:             validateIngress,
		ValidateUpdate:       validateIngressUpdate,
		ValidateStatusUpdate: validateIngressStatusUpdate,
		Warnings:             ingressWarnings,
		StatusWarnings:       ingressStatusWarnings,
	},
}

func defaultIngressV1beta1(ing *networkingv1beta1.Ingress) {
	for i := range ing.Spec.Rules {
		if http := ing.Spec.Rules[i].HTTP; http != nil {
			for j := range http.Paths {
				defaults.Pointer(&http.Paths[j].PathType, networkingv1beta1.PathTypeImplementationSpecific)
			}
		}
	}
}

func validateIngress(o *networkingv1.Ingress) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(ingressSpec(&o.Spec, ingressLeniency{}))
	const annotation = "kubernetes.io/ingress.class"
	if class, ok := o.Annotations[annotation]; ok && o.Spec.IngressClassName != nil {
		f.AddIf(class != *o.Spec.IngressClassName, field.Invalid(field.NewPath("annotations").Child(annotation), class,
			"must match `ingressClassName` when both are specified"))
	}
	return f.Errs
}

func validateIngressUpdate(o, old *networkingv1.Ingress) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	var lenient ingressLeniency
	if old.Spec.DefaultBackend != nil {
		lenient.serviceNames = relaxedServiceName(old.Spec.DefaultBackend)
	}
	for _, tls := range old.Spec.TLS {
		lenient.secretNames = lenient.secretNames || len(tlsSecret(tls.SecretName)) > 0
	}
	for _, rule := range old.Spec.Rules {
		lenient.wildcards = lenient.wildcards || strings.Contains(rule.Host, "*") && len(ingressPaths(nil, &rule, lenient)) > 0
		if rule.HTTP != nil {
			lenient.serviceNames = lenient.serviceNames || slices.ContainsFunc(rule.HTTP.Paths,
				func(p networkingv1.HTTPIngressPath) bool { return relaxedServiceName(&p.Backend) })
		}
	}
	f.Merge(validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain).Errs, ingressSpec(&o.Spec, lenient))
	return f.Errs
}

// validateIngressStatusUpdate checks the addresses that a controller writes.
func validateIngressStatusUpdate(o, old *networkingv1.Ingress) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	var stored []string
	for _, point := range old.Status.LoadBalancer.Ingress {
		stored = append(stored, point.IP)
	}
	for i, point := range o.Status.LoadBalancer.Ingress {
		path := field.NewPath("status", "loadBalancer", "ingress").Index(i)
		if point.IP != "" {
			f.Merge(validation.LegacyIP(path.Child("ip"), point.IP, stored))
		}
		f.Merge(validation.LoadBalancerHost(path.Child("hostname"), point.Hostname))
	}
	return f.Errs
}

// ingressLeniency says which invalid parts an update may have, because the stored ingress has them too.
type ingressLeniency struct{ secretNames, wildcards, serviceNames bool }

// relaxedServiceName reports whether the name of a backend's Service is valid only with the feature gate
// validation.RelaxedServiceNames.
func relaxedServiceName(b *networkingv1.IngressBackend) bool {
	return b.Service != nil && len(apivalidation.NameIsDNSLabel(b.Service.Name, false)) == 0 &&
		len(apivalidation.NameIsDNS1035Label(b.Service.Name, false)) > 0
}

func ingressSpec(spec *networkingv1.IngressSpec, lenient ingressLeniency) field.ErrorList {
	var f validation.Findings
	path := field.NewPath("spec")
	f.AddIf(len(spec.Rules) == 0 && spec.DefaultBackend == nil,
		field.Invalid(path, validation.Unversioned(spec.Rules), "either `defaultBackend` or `rules` must be specified"))
	if spec.DefaultBackend != nil {
		f.Merge(ingressBackend(path.Child("defaultBackend"), spec.DefaultBackend, lenient))
	}
	for i, rule := range spec.Rules {
		path := path.Child("rules").Index(i)
		wildcard := strings.Contains(rule.Host, "*")
		if rule.Host != "" {
			f.AddIf(utilsnet.ParseIPSloppy(rule.Host) != nil,
				field.Invalid(path.Child("host"), rule.Host, "must be a DNS name, not an IP address"))
			f.Merge(ingressHost(path.Child("host"), rule.Host))
		}
		if !wildcard || !lenient.wildcards {
			f.Merge(ingressPaths(path, &rule, lenient))
		}
	}
	for i, tls := range spec.TLS {
		path := path.Child("tls").Index(i)
		for j, host := range tls.Hosts {
			f.Merge(ingressHost(path.Child("hosts").Index(j), host))
		}
		if !lenient.secretNames {
			f.Merge(validation.Follows(tlsSecret, path.Child("secretName"), tls.SecretName))
		}
	}
	if spec.IngressClassName != nil {
		f.Merge(validation.Follows(validation.ObjectName, path.Child("ingressClassName"), *spec.IngressClassName))
	}
	return f.Errs
}

func ingressHost(path *field.Path, host string) field.ErrorList {
	if strings.Contains(host, "*") {
		return validation.Follows(utilvalidation.IsWildcardDNS1123Subdomain, path, host)
	}
	return validation.Follows(utilvalidation.IsDNS1123Subdomain, path, host)
}

func tlsSecret(name string) []string {
	if name == "" {
		return nil
	}
	return apivalidation.NameIsDNSSubdomain(name, false)
}

func ingressPaths(path *field.Path, rule *networkingv1.IngressRule, lenient ingressLeniency) field.ErrorList {
	if rule.HTTP == nil {
		return nil
	}
	var f validation.Findings
	paths := path.Child("http", "paths")
	f.AddIf(len(rule.HTTP.Paths) == 0, field.Required(paths, ""))
	for i := range rule.HTTP.Paths {
		f.Merge(ingressPath(paths.Index(i), &rule.HTTP.Paths[i], lenient))
	}
	return f.Errs
}

func ingressPath(at *field.Path, p *networkingv1.HTTPIngressPath, lenient ingressLeniency) field.ErrorList {
	if p.PathType == nil {
		return field.ErrorList{field.Required(at.Child("pathType"), "pathType must be specified")}
	}
	var f validation.Findings
	path := at.Child("path")
	f.Merge(validation.OneOf(at.Child("pathType"), *p.PathType, networkingv1.PathTypeExact,
		networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix))
	absolute := strings.HasPrefix(p.Path, "/")
	switch *p.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		f.AddIf(!absolute, field.Invalid(path, p.Path, "must be an absolute path"))
		for _, s := range []string{"//", "/./", "/../", "%2f", "%2F"} {
			f.AddIf(strings.Contains(p.Path, s), field.Invalid(path, p.Path, fmt.Sprintf("must not contain '%s'", s)))
		}
		for _, s := range []string{"/..", "/."} {
			f.AddIf(strings.HasSuffix(p.Path, s), field.Invalid(path, p.Path, fmt.Sprintf("cannot end with '%s'", s)))
		}
	case networkingv1.PathTypeImplementationSpecific:
		f.AddIf(p.Path != "" && !absolute, field.Invalid(path, p.Path, "must be an absolute path"))
	}
	f.Merge(ingressBackend(at.Child("backend"), &p.Backend, lenient))
	return f.Errs
}

func ingressBackend(path *field.Path, b *networkingv1.IngressBackend, lenient ingressLeniency) field.ErrorList {
	switch {
	case b.Resource != nil && b.Service != nil:
		return field.ErrorList{field.Invalid(path, "", "cannot set both resource and service backends")}
	case b.Resource != nil:
		return localReference(path.Child("resource"), b.Resource.APIGroup, b.Resource.Kind, b.Resource.Name)
	case b.Service == nil:
		return field.ErrorList{field.Invalid(path, "", "resource or service backend is required")}
	}
	named := func(name apivalidation.ValidateNameFunc) field.ErrorList {
		return validation.Required(validation.Named(name), path.Child("service", "name"), b.Service.Name)
	}
	f := validation.Findings{Errs: named(apivalidation.NameIsDNSLabel)}
	if !lenient.serviceNames {
		f.Errs = validation.Switch(validation.RelaxedServiceNames, f.Errs, named(apivalidation.NameIsDNS1035Label))
	}
	port := path.Child("service", "port")
	switch p := b.Service.Port; {
	case p.Name != "" && p.Number != 0:
		f.Add(field.Invalid(path, "", "cannot set both port name & port number"))
	case p.Name != "":
		f.Merge(validation.Follows(utilvalidation.IsValidPortName, port.Child("name"), p.Name))
	case p.Number != 0:
		f.Merge(validation.PortNumber(port.Child("number"), p.Number))
	default:
		f.Add(field.Required(path, "port name or number is required"))
	}
	return f.Errs
}

// ingressColumns makes the rows of kubectl get. They show the hosts and the addresses.
var ingressColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Class", "The name of the IngressClass resource that should be used for additional configuration"),
		printers.Text("Hosts", "Hosts that incoming requests are matched against before the ingress rule"),
		printers.Text("Address", "Address is a list containing ingress points for the load-balancer"),
		printers.Text("Ports", "Ports of TLS configurations that open"),
		printers.AgeColumn,
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
			i.Name, ptr.Deref(i.Spec.IngressClassName, printers.None), ingressHosts(i.Spec.Rules),
			strings.Join(printers.Distinct(addresses), ","), ports, printers.Since(i.CreationTimestamp),
		}
	})

// ingressHosts lists the first three hosts. If more rules follow, it also shows the number of all rules minus three.
// The number of all rules includes rules without a host.
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

// ingressWarnings warns if a new ingress names its class only by the deprecated annotation.
func ingressWarnings(_ context.Context, i, old *networkingv1.Ingress) []string {
	_, annotated := i.Annotations["kubernetes.io/ingress.class"]
	if old != nil || !annotated || i.Spec.IngressClassName != nil {
		return nil
	}
	return []string{`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`}
}

// ingressStatusWarnings warns of load balancer addresses that aren't written in their canonical form.
func ingressStatusWarnings(_ context.Context, i, _ *networkingv1.Ingress) []string {
	var l warnings.List
	for n, ingress := range i.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			l.IP(warnings.LoadBalancerPath.Index(n), ingress.IP)
		}
	}
	return l
}
