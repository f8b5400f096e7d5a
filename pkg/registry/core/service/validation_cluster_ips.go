package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateServiceClusterIPs checks clusterIPs and ipFamilies before the allocation, which relies on them. old is
// nil on create.
func validateServiceClusterIPs(o, old *corev1.Service) field.ErrorList {
	return serviceAddresses(o, old, field.NewPath("spec"))
}
