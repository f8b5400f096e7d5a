package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// NodeAffinity is the node affinity of a pod, or nil.
func NodeAffinity(spec *corev1.PodSpec) *corev1.NodeAffinity {
	return ptr.Deref(spec.Affinity, corev1.Affinity{}).NodeAffinity
}
