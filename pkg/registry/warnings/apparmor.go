package warnings

import (
	corev1 "k8s.io/api/core/v1"
)

// AppArmorMessage is the warning about AppArmor annotations.
const AppArmorMessage = `deprecated since v1.30; use the "appArmorProfile" field instead`

// PodAppArmorProfile returns the AppArmor profile of a pod, or nil.
func PodAppArmorProfile(spec *corev1.PodSpec) *corev1.AppArmorProfile {
	if spec.SecurityContext == nil {
		return nil
	}
	return spec.SecurityContext.AppArmorProfile
}
