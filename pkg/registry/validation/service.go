package validation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"
	"k8s.io/utils/ptr"
)

const onlyForLoadBalancers = "may only be used when `type` is 'LoadBalancer'"

// Service checks a new service, after its addresses and ports were allocated.
func Service(o *corev1.Service) field.ErrorList {
	// Since 1.36 a name may start with a digit (KEP-5311).
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSLabel)
	f.merge(service(o, nil))
	return f.errs
}

// ServiceUpdate checks a service that replaces another.
func ServiceUpdate(o, old *corev1.Service) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(serviceAddressChange(o, old), serviceFamilyChange(o, old))
	if isLoadBalancer(o) && isLoadBalancer(old) {
		f.addIf(!ptr.Equal(o.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass),
			field.Invalid(field.NewPath("spec", "loadBalancerClass"), o.Spec.LoadBalancerClass, "may not change once set"))
	}
	f.merge(serviceLoadBalancerClass(o))
	f.addIf(needsHealthCheck(o) && needsHealthCheck(old) && o.Spec.HealthCheckNodePort != old.Spec.HealthCheckNodePort,
		field.Forbidden(field.NewPath("spec", "healthCheckNodePort"), "field is immutable"))
	f.merge(service(o, old))
	return f.errs
}

// ServiceStatusUpdate checks the load balancer that a controller reports.
func ServiceStatusUpdate(o, old *corev1.Service) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(loadBalancerStatus(o, old))
	return f.errs
}

// service checks everything but the object's metadata. With an old object, addresses
// that were stored before a rule became stricter stay valid.
func service(o, old *corev1.Service) field.ErrorList {
	var f findings
	hints, hinted := o.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	mode, moded := o.Annotations[corev1.AnnotationTopologyMode]
	f.addIf(hinted && moded && hints != mode, field.Invalid(
		metadataPath.Child("annotations").Key(corev1.AnnotationTopologyMode), mode,
		fmt.Sprintf("must match annotations[%s] when both are specified", corev1.DeprecatedAnnotationTopologyAwareHints)))

	spec := field.NewPath("spec")
	external := o.Spec.Type == corev1.ServiceTypeExternalName
	f.addIf(len(o.Spec.Ports) == 0 && !isHeadless(o) && !external, field.Required(spec.Child("ports"), ""))
	f.merge(serviceType(o, spec), servicePorts(o, spec.Child("ports")))
	if o.Spec.Selector != nil {
		f.merge(metav1validation.ValidateLabels(o.Spec.Selector, spec.Child("selector")))
	}
	f.merge(sessionAffinity(o, spec))
	if !external {
		f.merge(serviceAddresses(o, old, spec))
	}
	f.merge(externalIPs(o, old, spec.Child("externalIPs")))
	f.merge(requiredOneOf(spec.Child("type"), o.Spec.Type, corev1.ServiceTypeClusterIP,
		corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort))
	f.merge(serviceNodePorts(o, spec.Child("ports")), loadBalancerSources(o, old, spec))

	f.addIf(o.Spec.AllocateLoadBalancerNodePorts != nil && !isLoadBalancer(o),
		field.Forbidden(spec.Child("allocateLoadBalancerNodePorts"), onlyForLoadBalancers))
	// The path is the reference's: without "spec".
	f.addIf(o.Spec.AllocateLoadBalancerNodePorts == nil && isLoadBalancer(o),
		field.Required(field.NewPath("allocateLoadBalancerNodePorts"), ""))
	f.merge(serviceLoadBalancerClass(o), trafficPolicies(o, spec))
	return f.errs
}

func isHeadless(o *corev1.Service) bool {
	return slices.Equal(o.Spec.ClusterIPs, []string{corev1.ClusterIPNone})
}

func isLoadBalancer(o *corev1.Service) bool { return o.Spec.Type == corev1.ServiceTypeLoadBalancer }

// externallyAccessible says whether traffic from outside the cluster can reach it.
func externallyAccessible(o *corev1.Service) bool {
	return isLoadBalancer(o) || o.Spec.Type == corev1.ServiceTypeNodePort ||
		(o.Spec.Type == corev1.ServiceTypeClusterIP && len(o.Spec.ExternalIPs) > 0)
}

func needsHealthCheck(o *corev1.Service) bool {
	return isLoadBalancer(o) && o.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func serviceType(o *corev1.Service, spec *field.Path) field.ErrorList {
	var f findings
	ips := spec.Child("clusterIPs")
	switch t := o.Spec.Type; t {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		f.addIf(isHeadless(o), field.Invalid(ips.Index(0), corev1.ClusterIPNone,
			fmt.Sprintf("may not be set to 'None' for %s services", t)))
	case corev1.ServiceTypeExternalName:
		const msg = "may not be set for ExternalName services"
		f.addIf(len(o.Spec.ClusterIPs) > 0, field.Forbidden(ips, msg))
		f.addIf(len(o.Spec.IPFamilies) > 0, field.Forbidden(spec.Child("ipFamilies"), msg))
		f.addIf(o.Spec.IPFamilyPolicy != nil, field.Forbidden(spec.Child("ipFamilyPolicy"), msg))
		// A trailing dot says that the name is complete.
		name := strings.TrimSuffix(o.Spec.ExternalName, ".")
		f.merge(required(utilvalidation.IsDNS1123Subdomain, spec.Child("externalName"), name))
	}
	return f.errs
}

func servicePorts(o *corev1.Service, ports *field.Path) field.ErrorList {
	var f findings
	var names []string
	for i, port := range o.Spec.Ports {
		path := ports.Index(i)
		if port.Name != "" {
			f.merge(follows(utilvalidation.IsDNS1123Label, path.Child("name"), port.Name))
			f.addIf(slices.Contains(names, port.Name), field.Duplicate(path.Child("name"), port.Name))
			names = append(names, port.Name)
		} else {
			f.addIf(len(o.Spec.Ports) > 1, field.Required(path.Child("name"), ""))
		}
		f.merge(portNumber(path.Child("port"), port.Port))
		f.merge(requiredOneOf(path.Child("protocol"), port.Protocol, protocols...))
		f.merge(portNumberOrName(path.Child("targetPort"), port.TargetPort))
		if port.AppProtocol != nil {
			f.merge(qualified(path.Child("appProtocol"), *port.AppProtocol))
		}
	}
	return f.errs
}

var protocols = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}

func portNumber(path *field.Path, port int32) field.ErrorList {
	var f findings
	for _, msg := range utilvalidation.IsValidPortNum(int(port)) {
		f.add(field.Invalid(path, port, msg))
	}
	return f.errs
}

func portNumberOrName(path *field.Path, port intstr.IntOrString) field.ErrorList {
	switch port.Type {
	case intstr.Int:
		var f findings
		for _, msg := range utilvalidation.IsValidPortNum(port.IntValue()) {
			f.add(field.Invalid(path, port.IntValue(), msg))
		}
		return f.errs
	case intstr.String:
		return follows(utilvalidation.IsValidPortName, path, port.StrVal)
	default:
		return field.ErrorList{field.InternalError(path, fmt.Errorf("unknown type: %v", port.Type))}
	}
}

// serviceNodePorts checks where node ports are allowed, and that no two ports are the same.
func serviceNodePorts(o *corev1.Service, ports *field.Path) field.ErrorList {
	var forbidden, nodePorts, twice findings
	type key struct {
		protocol corev1.Protocol
		number   int32
	}
	seen, seenNodePort := map[key]bool{}, map[key]bool{}
	for i, port := range o.Spec.Ports {
		path := ports.Index(i)
		if port.NodePort != 0 {
			forbidden.addIf(o.Spec.Type == corev1.ServiceTypeClusterIP,
				field.Forbidden(path.Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
			k := key{port.Protocol, port.NodePort}
			nodePorts.addIf(seenNodePort[k], field.Duplicate(path.Child("nodePort"), port.NodePort))
			seenNodePort[k] = true
		}
		k := key{port.Protocol, port.Port}
		twice.addIf(seen[k], field.Duplicate(path,
			unversioned(corev1.ServicePort{Protocol: port.Protocol, Port: port.Port})))
		seen[k] = true
	}
	return slices.Concat(forbidden.errs, nodePorts.errs, twice.errs)
}

func sessionAffinity(o *corev1.Service, spec *field.Path) field.ErrorList {
	f := findings{requiredOneOf(spec.Child("sessionAffinity"), o.Spec.SessionAffinity,
		corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)}
	path := spec.Child("sessionAffinityConfig")
	config := o.Spec.SessionAffinityConfig
	switch o.Spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		f.addIf(config != nil, field.Forbidden(path, "must not be set when session affinity is None"))
	case corev1.ServiceAffinityClientIP:
		const affinity = "when session affinity type is ClientIP"
		timeout := path.Child("clientIP").Child("timeoutSeconds")
		switch {
		case config == nil:
			f.add(field.Required(path, affinity))
		case config.ClientIP == nil:
			f.add(field.Required(path.Child("clientIP"), affinity))
		case config.ClientIP.TimeoutSeconds == nil:
			f.add(field.Required(timeout, affinity))
		default:
			seconds := *config.ClientIP.TimeoutSeconds
			f.addIf(seconds <= 0 || seconds > maxAffinitySeconds, field.Invalid(timeout, seconds,
				fmt.Sprintf("must be greater than 0 and less than %d", maxAffinitySeconds)))
		}
	}
	return f.errs
}

// maxAffinitySeconds is a day.
const maxAffinitySeconds = 24 * 60 * 60

func serviceLoadBalancerClass(o *corev1.Service) field.ErrorList {
	path := field.NewPath("spec", "loadBalancerClass")
	switch {
	case o.Spec.LoadBalancerClass == nil:
		return nil
	case isLoadBalancer(o):
		return qualified(path, *o.Spec.LoadBalancerClass)
	default:
		return field.ErrorList{field.Forbidden(path, onlyForLoadBalancers)}
	}
}

func trafficPolicies(o *corev1.Service, spec *field.Path) field.ErrorList {
	var f findings
	path := spec.Child("externalTrafficPolicy")
	if externallyAccessible(o) {
		f.merge(requiredOneOf(path, o.Spec.ExternalTrafficPolicy,
			corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal))
	} else {
		f.addIf(o.Spec.ExternalTrafficPolicy != "", field.Invalid(path, o.Spec.ExternalTrafficPolicy,
			"may only be set for externally-accessible services"))
	}

	path = spec.Child("healthCheckNodePort")
	switch port := o.Spec.HealthCheckNodePort; {
	case !needsHealthCheck(o):
		f.addIf(port != 0, field.Invalid(path, port,
			"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
	case port == 0:
		f.add(field.Required(path, ""))
	default:
		f.merge(portNumber(path, port))
	}

	path = spec.Child("internalTrafficPolicy")
	switch o.Spec.Type {
	case corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeClusterIP:
		f.addIf(o.Spec.InternalTrafficPolicy == nil, field.Required(path, ""))
	}
	f.merge(optionalOneOf(path, o.Spec.InternalTrafficPolicy,
		corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal))
	f.merge(optionalOneOf(spec.Child("trafficDistribution"), o.Spec.TrafficDistribution,
		corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone,
		corev1.ServiceTrafficDistributionPreferSameNode))
	return f.errs
}

func loadBalancerSources(o, old *corev1.Service, spec *field.Path) field.ErrorList {
	var f findings
	annotation := func(s *corev1.Service) []string {
		return strings.Split(strings.TrimSpace(s.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]), ",")
	}
	var stored []string
	if old != nil {
		for _, cidr := range slices.Concat(old.Spec.LoadBalancerSourceRanges, annotation(old)) {
			stored = append(stored, strings.TrimSpace(cidr))
		}
	}
	if ranges := o.Spec.LoadBalancerSourceRanges; len(ranges) > 0 {
		path := spec.Child("LoadBalancerSourceRanges")
		f.addIf(!isLoadBalancer(o), field.Forbidden(path, onlyForLoadBalancers))
		for i, cidr := range ranges {
			f.merge(legacyCIDR(path.Index(i), strings.TrimSpace(cidr), stored))
		}
		return f.errs
	}
	if value, ok := o.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]; ok {
		path := metadataPath.Child("annotations").Key(corev1.AnnotationLoadBalancerSourceRangesKey)
		f.addIf(!isLoadBalancer(o), field.Forbidden(path, onlyForLoadBalancers))
		if strings.TrimSpace(value) != "" {
			for _, cidr := range annotation(o) {
				f.merge(legacyCIDR(path, strings.TrimSpace(cidr), stored))
			}
		}
	}
	return f.errs
}

// loadBalancerStatus checks the ingress points of a service.
func loadBalancerStatus(o, old *corev1.Service) field.ErrorList {
	var f findings
	path := field.NewPath("status", "loadBalancer", "ingress")
	points := o.Status.LoadBalancer.Ingress
	if !isLoadBalancer(o) && len(points) > 0 {
		return field.ErrorList{field.Forbidden(path, "may only be used when `spec.type` is \"LoadBalancer\"")}
	}
	var stored []string
	for _, point := range old.Status.LoadBalancer.Ingress {
		stored = append(stored, point.IP)
	}
	for i, point := range points {
		path := path.Index(i)
		if point.IP != "" {
			f.merge(legacyIP(path.Child("ip"), point.IP, stored))
		}
		mode := path.Child("ipMode")
		switch {
		case point.IP != "" && point.IPMode == nil:
			f.add(field.Required(mode, "must be specified when `ip` is set"))
		case point.IP == "" && point.IPMode != nil:
			f.add(field.Forbidden(mode, "may not be specified when `ip` is not set"))
		default:
			f.merge(optionalOneOf(mode, point.IPMode, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP))
		}
		f.merge(loadBalancerHost(path.Child("hostname"), point.Hostname))
	}
	return f.errs
}

func loadBalancerHost(path *field.Path, host string) field.ErrorList {
	if host == "" {
		return nil
	}
	f := findings{follows(utilvalidation.IsDNS1123Subdomain, path, host)}
	f.addIf(utilsnet.ParseIPSloppy(host) != nil,
		field.Invalid(path, host, "must be a DNS name, not an IP address"))
	return f.errs
}
