package service

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

const onlyForLoadBalancers = "may only be used when `type` is 'LoadBalancer'"

// validateService checks a new service. Its addresses and ports have been allocated before.
func validateService(o *corev1.Service) field.ErrorList {
	f := validation.Findings{Errs: validation.Switch(validation.RelaxedServiceNames,
		validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSLabel).Errs,
		validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNS1035Label).Errs)}
	f.Merge(validateBoth(o, nil))
	return f.Errs
}

func validateServiceUpdate(o, old *corev1.Service) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(serviceAddressChange(o, old), serviceFamilyChange(o, old))
	if isLoadBalancer(o) && isLoadBalancer(old) {
		f.AddIf(!ptr.Equal(o.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass),
			field.Invalid(field.NewPath("spec", "loadBalancerClass"), o.Spec.LoadBalancerClass, "may not change once set"))
	}
	f.Merge(serviceLoadBalancerClass(o))
	f.AddIf(needsHealthCheck(o) && needsHealthCheck(old) && o.Spec.HealthCheckNodePort != old.Spec.HealthCheckNodePort,
		field.Forbidden(field.NewPath("spec", "healthCheckNodePort"), "field is immutable"))
	f.Merge(validateBoth(o, old))
	return f.Errs
}

// validateServiceStatusUpdate checks the new metadata, and the addresses of the load balancer in the new status.
func validateServiceStatusUpdate(o, old *corev1.Service) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(loadBalancerStatus(o, old))
	return f.Errs
}

// validateBoth checks the spec of a service, and its annotations about topology, for a create and an update. If old
// isn't nil, its addresses stay valid even if a rule has become stricter since.
func validateBoth(o, old *corev1.Service) field.ErrorList {
	var f validation.Findings
	hints, hinted := o.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	mode, moded := o.Annotations[corev1.AnnotationTopologyMode]
	f.AddIf(hinted && moded && hints != mode, field.Invalid(
		validation.MetadataPath.Child("annotations").Key(corev1.AnnotationTopologyMode), mode,
		fmt.Sprintf("must match annotations[%s] when both are specified", corev1.DeprecatedAnnotationTopologyAwareHints)))

	spec := field.NewPath("spec")
	external := o.Spec.Type == corev1.ServiceTypeExternalName
	f.AddIf(len(o.Spec.Ports) == 0 && !isHeadless(o) && !external, field.Required(spec.Child("ports"), ""))
	f.Merge(serviceType(o, spec), servicePorts(o, spec.Child("ports")))
	if o.Spec.Selector != nil {
		f.Merge(metav1validation.ValidateLabels(o.Spec.Selector, spec.Child("selector")))
	}
	f.Merge(sessionAffinity(o, spec))
	if !external {
		f.Merge(serviceAddresses(o, old, spec))
	}
	f.Merge(externalIPs(o, old, spec.Child("externalIPs")))
	f.Merge(validation.RequiredOneOf(spec.Child("type"), o.Spec.Type, corev1.ServiceTypeClusterIP,
		corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort))
	f.Merge(serviceNodePorts(o, spec.Child("ports")), loadBalancerSources(o, old, spec))

	f.AddIf(o.Spec.AllocateLoadBalancerNodePorts != nil && !isLoadBalancer(o),
		field.Forbidden(spec.Child("allocateLoadBalancerNodePorts"), onlyForLoadBalancers))
	// As in kube-apiserver, the path of this error has no "spec".
	f.AddIf(o.Spec.AllocateLoadBalancerNodePorts == nil && isLoadBalancer(o),
		field.Required(field.NewPath("allocateLoadBalancerNodePorts"), ""))
	f.Merge(serviceLoadBalancerClass(o), trafficPolicies(o, spec))
	return f.Errs
}

func isHeadless(o *corev1.Service) bool {
	return slices.Equal(o.Spec.ClusterIPs, []string{corev1.ClusterIPNone})
}

func isLoadBalancer(o *corev1.Service) bool { return o.Spec.Type == corev1.ServiceTypeLoadBalancer }

// externallyAccessible reports whether traffic from outside of the cluster can reach a service.
func externallyAccessible(o *corev1.Service) bool {
	return hasNodePorts(o) || (o.Spec.Type == corev1.ServiceTypeClusterIP && len(o.Spec.ExternalIPs) > 0)
}

func needsHealthCheck(o *corev1.Service) bool {
	return isLoadBalancer(o) && o.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func serviceType(o *corev1.Service, spec *field.Path) field.ErrorList {
	var f validation.Findings
	ips := spec.Child("clusterIPs")
	switch t := o.Spec.Type; t {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		f.AddIf(isHeadless(o), field.Invalid(ips.Index(0), corev1.ClusterIPNone,
			fmt.Sprintf("may not be set to 'None' for %s services", t)))
	case corev1.ServiceTypeExternalName:
		const msg = "may not be set for ExternalName services"
		f.AddIf(len(o.Spec.ClusterIPs) > 0, field.Forbidden(ips, msg))
		f.AddIf(len(o.Spec.IPFamilies) > 0, field.Forbidden(spec.Child("ipFamilies"), msg))
		f.AddIf(o.Spec.IPFamilyPolicy != nil, field.Forbidden(spec.Child("ipFamilyPolicy"), msg))
		// A trailing dot marks a fully qualified name.
		name := strings.TrimSuffix(o.Spec.ExternalName, ".")
		f.Merge(validation.Required(utilvalidation.IsDNS1123Subdomain, spec.Child("externalName"), name))
	}
	return f.Errs
}

func servicePorts(o *corev1.Service, ports *field.Path) field.ErrorList {
	var f validation.Findings
	var names []string
	for i, port := range o.Spec.Ports {
		path := ports.Index(i)
		if port.Name != "" {
			f.Merge(validation.Follows(utilvalidation.IsDNS1123Label, path.Child("name"), port.Name))
			f.AddIf(slices.Contains(names, port.Name), field.Duplicate(path.Child("name"), port.Name))
			names = append(names, port.Name)
		} else {
			f.AddIf(len(o.Spec.Ports) > 1, field.Required(path.Child("name"), ""))
		}
		f.Merge(validation.PortNumber(path.Child("port"), port.Port))
		f.Merge(validation.RequiredOneOf(path.Child("protocol"), port.Protocol, validation.Protocols...))
		f.Merge(validation.PortNumberOrName(path.Child("targetPort"), port.TargetPort))
		if port.AppProtocol != nil {
			f.Merge(validation.Qualified(path.Child("appProtocol"), *port.AppProtocol))
		}
	}
	return f.Errs
}

// serviceNodePorts checks that a service may have node ports. No two service ports of the same protocol may have the
// same port or the same node port.
func serviceNodePorts(o *corev1.Service, ports *field.Path) field.ErrorList {
	var forbidden, nodePorts, twice validation.Findings
	type key struct {
		protocol corev1.Protocol
		number   int32
	}
	seen, seenNodePort := map[key]bool{}, map[key]bool{}
	for i, port := range o.Spec.Ports {
		path := ports.Index(i)
		if port.NodePort != 0 {
			forbidden.AddIf(o.Spec.Type == corev1.ServiceTypeClusterIP,
				field.Forbidden(path.Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
			k := key{port.Protocol, port.NodePort}
			nodePorts.AddIf(seenNodePort[k], field.Duplicate(path.Child("nodePort"), port.NodePort))
			seenNodePort[k] = true
		}
		k := key{port.Protocol, port.Port}
		twice.AddIf(seen[k], field.Duplicate(path,
			validation.Unversioned(corev1.ServicePort{Protocol: port.Protocol, Port: port.Port})))
		seen[k] = true
	}
	return slices.Concat(forbidden.Errs, nodePorts.Errs, twice.Errs)
}

func sessionAffinity(o *corev1.Service, spec *field.Path) field.ErrorList {
	f := validation.Findings{Errs: validation.RequiredOneOf(spec.Child("sessionAffinity"), o.Spec.SessionAffinity,
		corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)}
	path := spec.Child("sessionAffinityConfig")
	config := o.Spec.SessionAffinityConfig
	switch o.Spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		f.AddIf(config != nil, field.Forbidden(path, "must not be set when session affinity is None"))
	case corev1.ServiceAffinityClientIP:
		const affinity = "when session affinity type is ClientIP"
		timeout := path.Child("clientIP").Child("timeoutSeconds")
		switch {
		case config == nil:
			f.Add(field.Required(path, affinity))
		case config.ClientIP == nil:
			f.Add(field.Required(path.Child("clientIP"), affinity))
		case config.ClientIP.TimeoutSeconds == nil:
			f.Add(field.Required(timeout, affinity))
		default:
			seconds := *config.ClientIP.TimeoutSeconds
			f.AddIf(seconds <= 0 || seconds > maxAffinitySeconds, field.Invalid(timeout, seconds,
				fmt.Sprintf("must be greater than 0 and less than %d", maxAffinitySeconds)))
		}
	}
	return f.Errs
}

// maxAffinitySeconds is the longest duration of session affinity: one day.
const maxAffinitySeconds = 24 * 60 * 60

func serviceLoadBalancerClass(o *corev1.Service) field.ErrorList {
	path := field.NewPath("spec", "loadBalancerClass")
	switch {
	case o.Spec.LoadBalancerClass == nil:
		return nil
	case isLoadBalancer(o):
		return validation.Qualified(path, *o.Spec.LoadBalancerClass)
	default:
		return field.ErrorList{field.Forbidden(path, onlyForLoadBalancers)}
	}
}

func trafficPolicies(o *corev1.Service, spec *field.Path) field.ErrorList {
	var f validation.Findings
	path := spec.Child("externalTrafficPolicy")
	if externallyAccessible(o) {
		f.Merge(validation.RequiredOneOf(path, o.Spec.ExternalTrafficPolicy,
			corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal))
	} else {
		f.AddIf(o.Spec.ExternalTrafficPolicy != "", field.Invalid(path, o.Spec.ExternalTrafficPolicy,
			"may only be set for externally-accessible services"))
	}

	path = spec.Child("healthCheckNodePort")
	switch port := o.Spec.HealthCheckNodePort; {
	case !needsHealthCheck(o):
		f.AddIf(port != 0, field.Invalid(path, port,
			"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
	case port == 0:
		f.Add(field.Required(path, ""))
	default:
		f.Merge(validation.PortNumber(path, port))
	}

	path = spec.Child("internalTrafficPolicy")
	switch o.Spec.Type {
	case corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeClusterIP:
		f.AddIf(o.Spec.InternalTrafficPolicy == nil, field.Required(path, ""))
	}
	f.Merge(validation.OptionalOneOf(path, o.Spec.InternalTrafficPolicy,
		corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal))
	f.Merge(validation.OptionalOneOf(spec.Child("trafficDistribution"), o.Spec.TrafficDistribution,
		corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone,
		corev1.ServiceTrafficDistributionPreferSameNode))
	return f.Errs
}

// loadBalancerSources checks the source ranges of a load balancer. They are in the spec, or in an old annotation.
func loadBalancerSources(o, old *corev1.Service, spec *field.Path) field.ErrorList {
	var f validation.Findings
	const annotation = corev1.AnnotationLoadBalancerSourceRangesKey
	if ranges := o.Spec.LoadBalancerSourceRanges; len(ranges) > 0 {
		path := spec.Child("LoadBalancerSourceRanges")
		f.AddIf(!isLoadBalancer(o), field.Forbidden(path, onlyForLoadBalancers))
		var stored []string
		if old != nil {
			for _, cidr := range old.Spec.LoadBalancerSourceRanges {
				stored = append(stored, strings.TrimSpace(cidr))
			}
		}
		for i, cidr := range ranges {
			f.Merge(validation.LegacyCIDR(path.Index(i), strings.TrimSpace(cidr), stored))
		}
		return f.Errs
	}
	value, ok := o.Annotations[annotation]
	if !ok {
		return nil
	}
	path := validation.MetadataPath.Child("annotations").Key(annotation)
	f.AddIf(!isLoadBalancer(o), field.Forbidden(path, onlyForLoadBalancers))
	unchanged := old != nil && old.Annotations[annotation] == value
	if value = strings.TrimSpace(value); value != "" && !unchanged {
		for cidr := range strings.SplitSeq(value, ",") {
			f.Merge(validation.LegacyCIDR(path, strings.TrimSpace(cidr), nil))
		}
	}
	return f.Errs
}

// loadBalancerStatus checks the addresses of a load balancer in the status.
func loadBalancerStatus(o, old *corev1.Service) field.ErrorList {
	var f validation.Findings
	path := field.NewPath("status", "loadBalancer", "ingress")
	points := o.Status.LoadBalancer.Ingress
	if !isLoadBalancer(o) && len(points) > 0 {
		return field.ErrorList{field.Forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")}
	}
	var stored []string
	for _, point := range old.Status.LoadBalancer.Ingress {
		stored = append(stored, point.IP)
	}
	for i, point := range points {
		path := path.Index(i)
		if point.IP != "" {
			f.Merge(validation.LegacyIP(path.Child("ip"), point.IP, stored))
		}
		mode := path.Child("ipMode")
		switch {
		case point.IP != "" && point.IPMode == nil:
			f.Add(field.Required(mode, "must be specified when `ip` is set"))
		case point.IP == "" && point.IPMode != nil:
			f.Add(field.Forbidden(mode, "may not be specified when `ip` is not set"))
		default:
			f.Merge(validation.OptionalOneOf(mode, point.IPMode, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP))
		}
		f.Merge(validation.LoadBalancerHost(path.Child("hostname"), point.Hostname))
	}
	return f.Errs
}
