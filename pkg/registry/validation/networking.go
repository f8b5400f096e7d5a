package validation

import (
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"
	"k8s.io/utils/ptr"
)

// Ingress checks a new ingress.
func Ingress(o *networkingv1.Ingress) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(ingressSpec(&o.Spec, ingressLeniency{}))
	const annotation = "kubernetes.io/ingress.class"
	if class, ok := o.Annotations[annotation]; ok && o.Spec.IngressClassName != nil {
		f.AddIf(class != *o.Spec.IngressClassName, field.Invalid(field.NewPath("annotations").Child(annotation), class,
			"must match `ingressClassName` when both are specified"))
	}
	return f.Errs
}

// IngressUpdate checks an ingress that replaces another.
func IngressUpdate(o, old *networkingv1.Ingress) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	var lenient ingressLeniency
	for _, tls := range old.Spec.TLS {
		lenient.secretNames = lenient.secretNames || len(tlsSecret(tls.SecretName)) > 0
	}
	for _, rule := range old.Spec.Rules {
		lenient.wildcards = lenient.wildcards || strings.Contains(rule.Host, "*") && len(ingressPaths(nil, &rule)) > 0
	}
	f.Merge(Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain).Errs, ingressSpec(&o.Spec, lenient))
	return f.Errs
}

// IngressStatusUpdate checks the addresses that a controller reports.
func IngressStatusUpdate(o, old *networkingv1.Ingress) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	var stored []string
	for _, point := range old.Status.LoadBalancer.Ingress {
		stored = append(stored, point.IP)
	}
	for i, point := range o.Status.LoadBalancer.Ingress {
		path := field.NewPath("status", "loadBalancer", "ingress").Index(i)
		if point.IP != "" {
			f.Merge(LegacyIP(path.Child("ip"), point.IP, stored))
		}
		f.Merge(LoadBalancerHost(path.Child("hostname"), point.Hostname))
	}
	return f.Errs
}

// ingressLeniency is what an update may keep, as the old ingress has it already.
type ingressLeniency struct{ secretNames, wildcards bool }

func ingressSpec(spec *networkingv1.IngressSpec, lenient ingressLeniency) field.ErrorList {
	var f Findings
	path := field.NewPath("spec")
	f.AddIf(len(spec.Rules) == 0 && spec.DefaultBackend == nil,
		field.Invalid(path, Unversioned(spec.Rules), "either `defaultBackend` or `rules` must be specified"))
	if spec.DefaultBackend != nil {
		f.Merge(ingressBackend(path.Child("defaultBackend"), spec.DefaultBackend))
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
			f.Merge(ingressPaths(path, &rule))
		}
	}
	for i, tls := range spec.TLS {
		path := path.Child("tls").Index(i)
		for j, host := range tls.Hosts {
			f.Merge(ingressHost(path.Child("hosts").Index(j), host))
		}
		if !lenient.secretNames {
			f.Merge(Follows(tlsSecret, path.Child("secretName"), tls.SecretName))
		}
	}
	if spec.IngressClassName != nil {
		f.Merge(Follows(Named(apivalidation.NameIsDNSSubdomain), path.Child("ingressClassName"), *spec.IngressClassName))
	}
	return f.Errs
}

func ingressHost(path *field.Path, host string) field.ErrorList {
	if strings.Contains(host, "*") {
		return Follows(utilvalidation.IsWildcardDNS1123Subdomain, path, host)
	}
	return Follows(utilvalidation.IsDNS1123Subdomain, path, host)
}

func tlsSecret(name string) []string {
	if name == "" {
		return nil
	}
	return apivalidation.NameIsDNSSubdomain(name, false)
}

func ingressPaths(path *field.Path, rule *networkingv1.IngressRule) field.ErrorList {
	if rule.HTTP == nil {
		return nil
	}
	var f Findings
	paths := path.Child("http", "paths")
	f.AddIf(len(rule.HTTP.Paths) == 0, field.Required(paths, ""))
	for i := range rule.HTTP.Paths {
		f.Merge(ingressPath(paths.Index(i), &rule.HTTP.Paths[i]))
	}
	return f.Errs
}

func ingressPath(at *field.Path, p *networkingv1.HTTPIngressPath) field.ErrorList {
	if p.PathType == nil {
		return field.ErrorList{field.Required(at.Child("pathType"), "pathType must be specified")}
	}
	var f Findings
	path := at.Child("path")
	f.Merge(OneOf(at.Child("pathType"), *p.PathType, networkingv1.PathTypeExact,
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
	f.Merge(ingressBackend(at.Child("backend"), &p.Backend))
	return f.Errs
}

func ingressBackend(path *field.Path, b *networkingv1.IngressBackend) field.ErrorList {
	switch {
	case b.Resource != nil && b.Service != nil:
		return field.ErrorList{field.Invalid(path, "", "cannot set both resource and service backends")}
	case b.Resource != nil:
		return localReference(path.Child("resource"), b.Resource.APIGroup, b.Resource.Kind, b.Resource.Name)
	case b.Service == nil:
		return field.ErrorList{field.Invalid(path, "", "resource or service backend is required")}
	}
	f := Findings{Required(Named(apivalidation.NameIsDNSLabel), path.Child("service", "name"), b.Service.Name)}
	port := path.Child("service", "port")
	switch p := b.Service.Port; {
	case p.Name != "" && p.Number != 0:
		f.Add(field.Invalid(path, "", "cannot set both port name & port number"))
	case p.Name != "":
		f.Merge(Follows(utilvalidation.IsValidPortName, port.Child("name"), p.Name))
	case p.Number != 0:
		f.Merge(PortNumber(port.Child("number"), p.Number))
	default:
		f.Add(field.Required(path, "port name or number is required"))
	}
	return f.Errs
}

func localReference(path *field.Path, group *string, kind, name string) field.ErrorList {
	var f Findings
	if group != nil {
		f.Merge(Follows(utilvalidation.IsDNS1123Subdomain, path.Child("apiGroup"), *group))
	}
	f.Merge(Required(content.IsPathSegmentName, path.Child("kind"), kind),
		Required(content.IsPathSegmentName, path.Child("name"), name))
	return f.Errs
}

const maxIngressController = 250

// IngressClass checks a new class.
func IngressClass(o *networkingv1.IngressClass) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec", "controller")
	if controller := o.Spec.Controller; controller == "" {
		f.Add(field.Required(path, ""))
	} else {
		f.AddIf(len(controller) > maxIngressController, field.TooLong(path, "", maxIngressController))
		f.Merge(utilvalidation.IsDomainPrefixedPath(path, controller))
	}
	if p := o.Spec.Parameters; p != nil {
		f.Merge(ingressParameters(field.NewPath("spec", "parameters"), p))
	}
	return f.Errs
}

// IngressClassUpdate checks a class that replaces another.
func IngressClassUpdate(o, old *networkingv1.IngressClass) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(Unchanged(field.NewPath("spec", "controller"), o.Spec.Controller, old.Spec.Controller), IngressClass(o))
	return f.Errs
}

func ingressParameters(path *field.Path, p *networkingv1.IngressClassParametersReference) field.ErrorList {
	f := Findings{localReference(path, p.APIGroup, p.Kind, p.Name)}
	namespace := path.Child("namespace")
	scope := ptr.Deref(p.Scope, "")
	f.AddIf(p.Scope == nil, field.Required(path.Child("scope"), ""))
	f.Merge(OptionalOneOf(path.Child("scope"), p.Scope, networkingv1.IngressClassParametersReferenceScopeCluster,
		networkingv1.IngressClassParametersReferenceScopeNamespace))
	switch {
	case scope == networkingv1.IngressClassParametersReferenceScopeNamespace && p.Namespace == nil:
		f.Add(field.Required(namespace, "`parameters.scope` is set to 'Namespace'"))
	case scope == networkingv1.IngressClassParametersReferenceScopeNamespace:
		f.Merge(Follows(Named(apivalidation.ValidateNamespaceName), namespace, *p.Namespace))
	case scope == networkingv1.IngressClassParametersReferenceScopeCluster && p.Namespace != nil:
		f.Add(field.Forbidden(namespace, "`parameters.scope` is set to 'Cluster'"))
	}
	return f.Errs
}

// IPAddress checks a new address, of which the name is the address (KEP-1880).
func IPAddress(o *networkingv1.IPAddress) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, func(name string, _ bool) []string {
		var msgs []string
		for _, err := range utilvalidation.IsValidIP(nil, name) {
			msgs = append(msgs, err.Detail)
		}
		return msgs
	})
	path := field.NewPath("spec", "parentRef")
	ref := o.Spec.ParentRef
	if ref == nil {
		f.Add(field.Required(path, ""))
		return f.Errs
	}
	if ref.Group != "" {
		f.Merge(Follows(utilvalidation.IsDNS1123Subdomain, path.Child("group"), ref.Group))
	}
	f.Merge(Required(content.IsPathSegmentName, path.Child("resource"), ref.Resource),
		Required(content.IsPathSegmentName, path.Child("name"), ref.Name),
		Follows(content.IsPathSegmentName, path.Child("namespace"), ref.Namespace))
	return f.Errs
}

// IPAddressUpdate checks an address that replaces another.
func IPAddressUpdate(o, old *networkingv1.IPAddress) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("spec", "parentRef")
	f.AddIf(o.Spec.ParentRef == nil, field.Required(path, ""))
	f.Merge(Unchanged(path, o.Spec.ParentRef, old.Spec.ParentRef))
	return f.Errs
}

// ServiceCIDR checks a new range of service addresses (KEP-1880).
func ServiceCIDR(o *networkingv1.ServiceCIDR) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(serviceCIDRs(&o.Spec))
	return f.Errs
}

// ServiceCIDRUpdate checks a range that replaces another: a second family may be added.
func ServiceCIDRUpdate(o, old *networkingv1.ServiceCIDR) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("spec", "cidrs")
	now, was := o.Spec.CIDRs, old.Spec.CIDRs
	grows := len(was) == 1 && len(now) == 2
	if len(now) != len(was) && !grows {
		f.Add(field.Invalid(path, now, apivalidation.FieldImmutableErrorMsg))
		return f.Errs
	}
	for i := range was {
		f.Merge(Unchanged(path.Index(i), now[i], was[i]))
	}
	if grows {
		f.Merge(serviceCIDRs(&o.Spec))
	}
	return f.Errs
}

func serviceCIDRs(spec *networkingv1.ServiceCIDRSpec) field.ErrorList {
	path := field.NewPath("spec", "cidrs")
	switch n := len(spec.CIDRs); {
	case n == 0:
		return field.ErrorList{field.Required(path, "at least one CIDR required")}
	case n > 2:
		return field.ErrorList{field.Invalid(path, Unversioned(spec), "may only hold up to 2 values")}
	}
	var f Findings
	for i, cidr := range spec.CIDRs {
		f.Merge(utilvalidation.IsValidCIDR(path.Index(i), cidr))
	}
	if len(spec.CIDRs) == 2 {
		family := utilsnet.IPFamilyOfCIDRString(spec.CIDRs[0])
		f.AddIf(family != utilsnet.IPFamilyUnknown && family == utilsnet.IPFamilyOfCIDRString(spec.CIDRs[1]), field.Invalid(path,
			spec.CIDRs, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"))
	}
	return f.Errs
}
