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
	var l list
	if _, ok := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; ok {
		l.add(fmt.Sprintf("annotation %s is deprecated, please use %s instead",
			corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode))
	}
	if s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone {
		for i, ip := range s.Spec.ClusterIPs {
			l.ip(specPath.Child("clusterIPs").Index(i), ip)
		}
	}
	if s.Spec.Type == corev1.ServiceTypeClusterIP && s.Spec.ClusterIP == corev1.ClusterIPNone {
		l.headless(&s.Spec)
	}
	if len(s.Spec.ExternalIPs) > 0 {
		l.add("spec.externalIPs is deprecated")
	}
	for i, ip := range s.Spec.ExternalIPs {
		l.ip(specPath.Child("externalIPs").Index(i), ip)
	}
	if s.Spec.LoadBalancerIP != "" {
		l.ip(specPath.Child("loadBalancerIP"), s.Spec.LoadBalancerIP)
	}
	for i, cidr := range s.Spec.LoadBalancerSourceRanges {
		l.cidr(specPath.Child("loadBalancerSourceRanges").Index(i), cidr)
	}
	externalName := s.Spec.Type == corev1.ServiceTypeExternalName
	if externalName && len(s.Spec.ExternalIPs) > 0 {
		l.add(fmt.Sprintf("spec.externalIPs is ignored when spec.type is %q", corev1.ServiceTypeExternalName))
	}
	if !externalName && s.Spec.ExternalName != "" {
		l.add(fmt.Sprintf("spec.externalName is ignored when spec.type is not %q", corev1.ServiceTypeExternalName))
	}
	if ptr.Deref(s.Spec.TrafficDistribution, "") == corev1.ServiceTrafficDistributionPreferClose {
		l.at(specPath.Child("trafficDistribution"), "%q is deprecated; use %q",
			corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone)
	}
	return l
}

// headless warns of what needs an address of the service.
func (l *list) headless(spec *corev1.ServiceSpec) {
	for _, ignored := range []struct {
		set   bool
		field string
	}{
		{spec.LoadBalancerIP != "", "spec.loadBalancerIP"},
		{len(spec.ExternalIPs) > 0, "spec.externalIPs"},
		{spec.SessionAffinity != "" && spec.SessionAffinity != corev1.ServiceAffinityNone, "spec.SessionAffinity"},
	} {
		if ignored.set {
			l.add(ignored.field + " is ignored for headless services")
		}
	}
}

// ServiceStatus returns the warnings of a service's status.
func ServiceStatus(_ context.Context, s, _ *corev1.Service) []string {
	var l list
	for i, ingress := range s.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			l.ip(loadBalancerPath.Index(i), ingress.IP)
		}
	}
	return l
}

var loadBalancerPath = field.NewPath("status", "loadBalancer", "ingress")

// Endpoints returns the warnings of endpoints. Those that the endpoints controller
// writes are known to be well-formed.
func Endpoints(_ context.Context, e, _ *corev1.Endpoints) []string {
	if e.Labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
		return nil
	}
	var l list
	for i, subset := range e.Subsets {
		path := field.NewPath("subsets").Index(i)
		for j, address := range subset.Addresses {
			l.ip(path.Child("addresses").Index(j).Child("ip"), address.IP)
		}
		for j, address := range subset.NotReadyAddresses {
			l.ip(path.Child("notReadyAddresses").Index(j).Child("ip"), address.IP)
		}
	}
	return l
}
