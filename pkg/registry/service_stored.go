package registry

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// completeAll completes a service or the services of a list, before a client sees them.
func (f ipFamilies) completeAll(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Service:
		f.complete(o)
	case *corev1.ServiceList:
		for i := range o.Items {
			f.complete(&o.Items[i])
		}
	}
}

// complete gives a stored service the form of a new one. Servers before Kubernetes 1.20 stored services without
// clusterIPs, ipFamilies and ipFamilyPolicy (KEP-563). Later servers stored an internalTrafficPolicy in services of
// type ExternalName, which have no use for it.
func (f ipFamilies) complete(s *corev1.Service) {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		s.Spec.InternalTrafficPolicy = nil
	}
	if !hasClusterIP(s) || len(s.Spec.IPFamilies) > 0 {
		return
	}
	settled := s.DeepCopy()
	alignNewClusterIPs(settled)
	// A service that can't be settled stays as it is stored, so that a client can read and repair it.
	if err := f.settle(settled, nil); err == nil {
		s.Spec = settled.Spec
	}
}
