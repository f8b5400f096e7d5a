package warnings

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// Service returns the warnings of a service.
func Service(_ context.Context, s, _ *corev1.Service) []string {
	var l List
	if _, ok := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; ok {
		l.Add(fmt.Sprintf("annotation %s is deprecated, please use %s instead",
			corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode))
	}
	if s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone {
		for i, ip := range s.Spec.ClusterIPs {
			l.Ip(SpecPath.Child("clusterIPs").Index(i), ip)
		}
	}
	if s.Spec.Type == corev1.ServiceTypeClusterIP && s.Spec.ClusterIP == corev1.ClusterIPNone {
		l.Headless(&s.Spec)
	}
	if len(s.Spec.ExternalIPs) > 0 {
		l.Add("spec.externalIPs is deprecated")
	}
	for i, ip := range s.Spec.ExternalIPs {
		l.Ip(SpecPath.Child("externalIPs").Index(i), ip)
	}
	if s.Spec.LoadBalancerIP != "" {
		l.Ip(SpecPath.Child("loadBalancerIP"), s.Spec.LoadBalancerIP)
	}
	for i, cidr := range s.Spec.LoadBalancerSourceRanges {
		l.Cidr(SpecPath.Child("loadBalancerSourceRanges").Index(i), cidr)
	}
	externalName := s.Spec.Type == corev1.ServiceTypeExternalName
	if externalName && len(s.Spec.ExternalIPs) > 0 {
		l.Add(fmt.Sprintf("spec.externalIPs is ignored when spec.type is %q", corev1.ServiceTypeExternalName))
	}
	if !externalName && s.Spec.ExternalName != "" {
		l.Add(fmt.Sprintf("spec.externalName is ignored when spec.type is not %q", corev1.ServiceTypeExternalName))
	}
	if ptr.Deref(s.Spec.TrafficDistribution, "") == corev1.ServiceTrafficDistributionPreferClose {
		l.At(SpecPath.Child("trafficDistribution"), "%q is deprecated; use %q",
			corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone)
	}
	return l
}

// Headless warns of what needs an address of the service.
func (l *List) Headless(spec *corev1.ServiceSpec) {
	for _, ignored := range []struct {
		set   bool
		field string
	}{
		{spec.LoadBalancerIP != "", "spec.loadBalancerIP"},
		{len(spec.ExternalIPs) > 0, "spec.externalIPs"},
		{spec.SessionAffinity != "" && spec.SessionAffinity != corev1.ServiceAffinityNone, "spec.SessionAffinity"},
	} {
		if ignored.set {
			l.Add(ignored.field + " is ignored for headless services")
		}
	}
}

// ServiceStatus returns the warnings of a service's status.
func ServiceStatus(_ context.Context, s, _ *corev1.Service) []string {
	var l List
	for i, ingress := range s.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			l.Ip(LoadBalancerPath.Index(i), ingress.IP)
		}
	}
	return l
}

// LoadBalancerPath is where services and ingresses have the addresses of their load balancers.
var LoadBalancerPath = field.NewPath("status", "loadBalancer", "ingress")

// Endpoints returns the warnings of endpoints. Those that the endpoints controller
// writes are known to be well-formed.
func Endpoints(_ context.Context, e, _ *corev1.Endpoints) []string {
	if e.Labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
		return nil
	}
	var l List
	for i, subset := range e.Subsets {
		path := field.NewPath("subsets").Index(i)
		for j, address := range subset.Addresses {
			l.Ip(path.Child("addresses").Index(j).Child("ip"), address.IP)
		}
		for j, address := range subset.NotReadyAddresses {
			l.Ip(path.Child("notReadyAddresses").Index(j).Child("ip"), address.IP)
		}
	}
	return l
}
