package warnings

import (
	corev1 "k8s.io/api/core/v1"
)

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
