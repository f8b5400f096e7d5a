package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// IsNativeResource tells whether Kubernetes itself defines the resource.
func IsNativeResource(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// IsExtendedResource tells whether nodes can advertise the resource and quotas can count it, see
// https://kubernetes.io/docs/tasks/configure-pod-container/extended-resource/.
func IsExtendedResource(name corev1.ResourceName) bool {
	return !IsNativeResource(name) && !strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}
