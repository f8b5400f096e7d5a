package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateServiceClusterIPs checks the cluster IPs and families of a service before any are
// allocated, so that the allocation needn't doubt them. Without an old one it is new.
func validateServiceClusterIPs(o, old *corev1.Service) field.ErrorList {
	return serviceAddresses(o, old, field.NewPath("spec"))
}
