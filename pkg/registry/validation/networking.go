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
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	f.merge(ingressSpec(&o.Spec, ingressLeniency{}))
	const annotation = "kubernetes.io/ingress.class"
	if class, ok := o.Annotations[annotation]; ok && o.Spec.IngressClassName != nil {
		f.addIf(class != *o.Spec.IngressClassName, field.Invalid(field.NewPath("annotations").Child(annotation), class,
			"must match `ingressClassName` when both are specified"))
	}
	return f.errs
}

// IngressUpdate checks an ingress that replaces another.
func IngressUpdate(o, old *networkingv1.Ingress) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	var lenient ingressLeniency
	for _, tls := range old.Spec.TLS {
		lenient.secretNames = lenient.secretNames || len(tlsSecret(tls.SecretName)) > 0
	}
	for _, rule := range old.Spec.Rules {
		lenient.wildcards = lenient.wildcards || strings.Contains(rule.Host, "*") && len(ingressPaths(nil, &rule)) > 0
	}
	f.merge(created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain).errs, ingressSpec(&o.Spec, lenient))
	return f.errs
}

// IngressStatusUpdate checks the addresses that a controller reports.
func IngressStatusUpdate(o, old *networkingv1.Ingress) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	var stored []string
	for _, point := range old.Status.LoadBalancer.Ingress {
		stored = append(stored, point.IP)
	}
	for i, point := range o.Status.LoadBalancer.Ingress {
		path := field.NewPath("status", "loadBalancer", "ingress").Index(i)
		if point.IP != "" {
			f.merge(legacyIP(path.Child("ip"), point.IP, stored))
		}
		f.merge(loadBalancerHost(path.Child("hostname"), point.Hostname))
	}
	return f.errs
}

// ingressLeniency is what an update may keep, as the old ingress has it already.
type ingressLeniency struct{ secretNames, wildcards bool }

func ingressSpec(spec *networkingv1.IngressSpec, lenient ingressLeniency) field.ErrorList {
	var f findings
	path := field.NewPath("spec")
	f.addIf(len(spec.Rules) == 0 && spec.DefaultBackend == nil,
		field.Invalid(path, unversioned(spec.Rules), "either `defaultBackend` or `rules` must be specified"))
	if spec.DefaultBackend != nil {
		f.merge(ingressBackend(path.Child("defaultBackend"), spec.DefaultBackend))
	}
	for i, rule := range spec.Rules {
		path := path.Child("rules").Index(i)
		wildcard := strings.Contains(rule.Host, "*")
		if rule.Host != "" {
			f.addIf(utilsnet.ParseIPSloppy(rule.Host) != nil,
				field.Invalid(path.Child("host"), rule.Host, "must be a DNS name, not an IP address"))
			f.merge(ingressHost(path.Child("host"), rule.Host))
		}
		if !wildcard || !lenient.wildcards {
			f.merge(ingressPaths(path, &rule))
		}
	}
	for i, tls := range spec.TLS {
		path := path.Child("tls").Index(i)
		for j, host := range tls.Hosts {
			f.merge(ingressHost(path.Child("hosts").Index(j), host))
		}
		if !lenient.secretNames {
			f.merge(follows(tlsSecret, path.Child("secretName"), tls.SecretName))
		}
	}
	if spec.IngressClassName != nil {
		f.merge(follows(named(apivalidation.NameIsDNSSubdomain), path.Child("ingressClassName"), *spec.IngressClassName))
	}
	return f.errs
}

func ingressHost(path *field.Path, host string) field.ErrorList {
	if strings.Contains(host, "*") {
		return follows(utilvalidation.IsWildcardDNS1123Subdomain, path, host)
	}
	return follows(utilvalidation.IsDNS1123Subdomain, path, host)
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
	var f findings
	paths := path.Child("http", "paths")
	f.addIf(len(rule.HTTP.Paths) == 0, field.Required(paths, ""))
	for i := range rule.HTTP.Paths {
		f.merge(ingressPath(paths.Index(i), &rule.HTTP.Paths[i]))
	}
	return f.errs
}

func ingressPath(at *field.Path, p *networkingv1.HTTPIngressPath) field.ErrorList {
	if p.PathType == nil {
		return field.ErrorList{field.Required(at.Child("pathType"), "pathType must be specified")}
	}
	var f findings
	path := at.Child("path")
	f.merge(oneOf(at.Child("pathType"), *p.PathType, networkingv1.PathTypeExact,
		networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix))
	absolute := strings.HasPrefix(p.Path, "/")
	switch *p.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		f.addIf(!absolute, field.Invalid(path, p.Path, "must be an absolute path"))
		for _, s := range []string{"//", "/./", "/../", "%2f", "%2F"} {
			f.addIf(strings.Contains(p.Path, s), field.Invalid(path, p.Path, fmt.Sprintf("must not contain '%s'", s)))
		}
		for _, s := range []string{"/..", "/."} {
			f.addIf(strings.HasSuffix(p.Path, s), field.Invalid(path, p.Path, fmt.Sprintf("cannot end with '%s'", s)))
		}
	case networkingv1.PathTypeImplementationSpecific:
		f.addIf(p.Path != "" && !absolute, field.Invalid(path, p.Path, "must be an absolute path"))
	}
	f.merge(ingressBackend(at.Child("backend"), &p.Backend))
	return f.errs
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
	f := findings{required(named(apivalidation.NameIsDNSLabel), path.Child("service", "name"), b.Service.Name)}
	port := path.Child("service", "port")
	switch p := b.Service.Port; {
	case p.Name != "" && p.Number != 0:
		f.add(field.Invalid(path, "", "cannot set both port name & port number"))
	case p.Name != "":
		f.merge(follows(utilvalidation.IsValidPortName, port.Child("name"), p.Name))
	case p.Number != 0:
		f.merge(portNumber(port.Child("number"), p.Number))
	default:
		f.add(field.Required(path, "port name or number is required"))
	}
	return f.errs
}

func localReference(path *field.Path, group *string, kind, name string) field.ErrorList {
	var f findings
	if group != nil {
		f.merge(follows(utilvalidation.IsDNS1123Subdomain, path.Child("apiGroup"), *group))
	}
	f.merge(required(content.IsPathSegmentName, path.Child("kind"), kind),
		required(content.IsPathSegmentName, path.Child("name"), name))
	return f.errs
}

const maxIngressController = 250

// IngressClass checks a new class.
func IngressClass(o *networkingv1.IngressClass) field.ErrorList {
	f := created(&o.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec", "controller")
	if controller := o.Spec.Controller; controller == "" {
		f.add(field.Required(path, ""))
	} else {
		f.addIf(len(controller) > maxIngressController, field.TooLong(path, "", maxIngressController))
		f.merge(utilvalidation.IsDomainPrefixedPath(path, controller))
	}
	if p := o.Spec.Parameters; p != nil {
		f.merge(ingressParameters(field.NewPath("spec", "parameters"), p))
	}
	return f.errs
}

// IngressClassUpdate checks a class that replaces another.
func IngressClassUpdate(o, old *networkingv1.IngressClass) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(unchanged(field.NewPath("spec", "controller"), o.Spec.Controller, old.Spec.Controller), IngressClass(o))
	return f.errs
}

func ingressParameters(path *field.Path, p *networkingv1.IngressClassParametersReference) field.ErrorList {
	f := findings{localReference(path, p.APIGroup, p.Kind, p.Name)}
	namespace := path.Child("namespace")
	scope := ptr.Deref(p.Scope, "")
	f.addIf(p.Scope == nil, field.Required(path.Child("scope"), ""))
	f.merge(optionalOneOf(path.Child("scope"), p.Scope, networkingv1.IngressClassParametersReferenceScopeCluster,
		networkingv1.IngressClassParametersReferenceScopeNamespace))
	switch {
	case scope == networkingv1.IngressClassParametersReferenceScopeNamespace && p.Namespace == nil:
		f.add(field.Required(namespace, "`parameters.scope` is set to 'Namespace'"))
	case scope == networkingv1.IngressClassParametersReferenceScopeNamespace:
		f.merge(follows(named(apivalidation.ValidateNamespaceName), namespace, *p.Namespace))
	case scope == networkingv1.IngressClassParametersReferenceScopeCluster && p.Namespace != nil:
		f.add(field.Forbidden(namespace, "`parameters.scope` is set to 'Cluster'"))
	}
	return f.errs
}

// IPAddress checks a new address, of which the name is the address (KEP-1880).
func IPAddress(o *networkingv1.IPAddress) field.ErrorList {
	f := created(&o.ObjectMeta, clusterScoped, func(name string, _ bool) []string {
		var msgs []string
		for _, err := range utilvalidation.IsValidIP(nil, name) {
			msgs = append(msgs, err.Detail)
		}
		return msgs
	})
	path := field.NewPath("spec", "parentRef")
	ref := o.Spec.ParentRef
	if ref == nil {
		f.add(field.Required(path, ""))
		return f.errs
	}
	if ref.Group != "" {
		f.merge(follows(utilvalidation.IsDNS1123Subdomain, path.Child("group"), ref.Group))
	}
	f.merge(required(content.IsPathSegmentName, path.Child("resource"), ref.Resource),
		required(content.IsPathSegmentName, path.Child("name"), ref.Name),
		follows(content.IsPathSegmentName, path.Child("namespace"), ref.Namespace))
	return f.errs
}

// IPAddressUpdate checks an address that replaces another.
func IPAddressUpdate(o, old *networkingv1.IPAddress) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("spec", "parentRef")
	f.addIf(o.Spec.ParentRef == nil, field.Required(path, ""))
	f.merge(unchanged(path, o.Spec.ParentRef, old.Spec.ParentRef))
	return f.errs
}

// ServiceCIDR checks a new range of service addresses (KEP-1880).
func ServiceCIDR(o *networkingv1.ServiceCIDR) field.ErrorList {
	f := created(&o.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain)
	f.merge(serviceCIDRs(&o.Spec))
	return f.errs
}

// ServiceCIDRUpdate checks a range that replaces another: a second family may be added.
func ServiceCIDRUpdate(o, old *networkingv1.ServiceCIDR) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("spec", "cidrs")
	now, was := o.Spec.CIDRs, old.Spec.CIDRs
	grows := len(was) == 1 && len(now) == 2
	if len(now) != len(was) && !grows {
		f.add(field.Invalid(path, now, apivalidation.FieldImmutableErrorMsg))
		return f.errs
	}
	for i := range was {
		f.merge(unchanged(path.Index(i), now[i], was[i]))
	}
	if grows {
		f.merge(serviceCIDRs(&o.Spec))
	}
	return f.errs
}

func serviceCIDRs(spec *networkingv1.ServiceCIDRSpec) field.ErrorList {
	path := field.NewPath("spec", "cidrs")
	switch n := len(spec.CIDRs); {
	case n == 0:
		return field.ErrorList{field.Required(path, "at least one CIDR required")}
	case n > 2:
		return field.ErrorList{field.Invalid(path, unversioned(spec), "may only hold up to 2 values")}
	}
	var f findings
	for i, cidr := range spec.CIDRs {
		f.merge(utilvalidation.IsValidCIDR(path.Index(i), cidr))
	}
	if len(spec.CIDRs) == 2 {
		family := utilsnet.IPFamilyOfCIDRString(spec.CIDRs[0])
		f.addIf(family != utilsnet.IPFamilyUnknown && family == utilsnet.IPFamilyOfCIDRString(spec.CIDRs[1]), field.Invalid(path,
			spec.CIDRs, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"))
	}
	return f.errs
}
