package service

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

func serviceWarnings(_ context.Context, s, _ *corev1.Service) []string {
	var l warnings.List
	if _, ok := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; ok {
		l.Add(fmt.Sprintf("annotation %s is deprecated, please use %s instead",
			corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode))
	}
	if s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone {
		for i, ip := range s.Spec.ClusterIPs {
			l.IP(warnings.SpecPath.Child("clusterIPs").Index(i), ip)
		}
	}
	headless := s.Spec.Type == corev1.ServiceTypeClusterIP && s.Spec.ClusterIP == corev1.ClusterIPNone
	externalName := s.Spec.Type == corev1.ServiceTypeExternalName
	if headless {
		headlessWarnings(&l, &s.Spec)
	}
	for i, ip := range s.Spec.ExternalIPs {
		l.IP(warnings.SpecPath.Child("externalIPs").Index(i), ip)
	}
	// Other warnings say that these services ignore the field.
	if len(s.Spec.ExternalIPs) > 0 && !headless && !externalName {
		l.Add("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	}
	if s.Spec.LoadBalancerIP != "" {
		l.IP(warnings.SpecPath.Child("loadBalancerIP"), s.Spec.LoadBalancerIP)
	}
	for i, cidr := range s.Spec.LoadBalancerSourceRanges {
		l.CIDR(warnings.SpecPath.Child("loadBalancerSourceRanges").Index(i), cidr)
	}
	if externalName && len(s.Spec.ExternalIPs) > 0 {
		l.Add(fmt.Sprintf("spec.externalIPs is ignored when spec.type is %q", corev1.ServiceTypeExternalName))
	}
	if !externalName && s.Spec.ExternalName != "" {
		l.Add(fmt.Sprintf("spec.externalName is ignored when spec.type is not %q", corev1.ServiceTypeExternalName))
	}
	if ptr.Deref(s.Spec.TrafficDistribution, "") == corev1.ServiceTrafficDistributionPreferClose {
		l.At(warnings.SpecPath.Child("trafficDistribution"), "%q is deprecated; use %q",
			corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone)
	}
	return l
}

func serviceStatusWarnings(_ context.Context, s, _ *corev1.Service) []string {
	var l warnings.List
	for i, ingress := range s.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			l.IP(warnings.LoadBalancerPath.Index(i), ingress.IP)
		}
	}
	return l
}

// headlessWarnings warns of fields that have no effect in a headless service, which has no cluster IP.
func headlessWarnings(l *warnings.List, spec *corev1.ServiceSpec) {
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
