package podspec

import corev1 "k8s.io/api/core/v1"

// IsWindows reports whether a pod is for Windows.
func IsWindows(spec *corev1.PodSpec) bool { return spec.OS != nil && spec.OS.Name == corev1.Windows }

// AppArmorProfile returns the AppArmor profile of a pod, or nil. A container may have another profile.
func AppArmorProfile(spec *corev1.PodSpec) *corev1.AppArmorProfile {
	if spec.SecurityContext == nil {
		return nil
	}
	return spec.SecurityContext.AppArmorProfile
}
