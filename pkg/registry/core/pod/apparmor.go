package pod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
)

// appArmorFields copies AppArmor profiles from annotations, which old clients send, to containers whose field
// appArmorProfile isn't set (KEP-24). It skips pods for Windows, invalid profiles, and profiles that equal the pod's
// profile.
func appArmorFields(pod *corev1.Pod) {
	if podspec.IsWindows(&pod.Spec) {
		return
	}
	ofPod := podspec.AppArmorProfile(&pod.Spec)
	for _, c := range podspec.Containers(&pod.Spec, nil) {
		annotation, annotated := pod.Annotations[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+c.Name]
		if !annotated || c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
			continue
		}
		profile := appArmorProfile(annotation)
		if profile == nil || !validLocalhostProfile(profile.LocalhostProfile) || apiequality.Semantic.DeepEqual(profile, ofPod) {
			continue
		}
		if c.SecurityContext == nil {
			c.SecurityContext = &corev1.SecurityContext{}
		}
		c.SecurityContext.AppArmorProfile = profile
	}
}

func validLocalhostProfile(name *string) bool {
	return name == nil || strings.TrimSpace(*name) == *name && len(*name) <= podvalidation.MaxAppArmorProfile
}

// appArmorProfile returns the profile that an AppArmor annotation stands for, or nil if the annotation is
// invalid.
func appArmorProfile(annotation string) *corev1.AppArmorProfile {
	switch annotation {
	case corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	case corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	}
	if name, ok := strings.CutPrefix(annotation, corev1.DeprecatedAppArmorBetaProfileNamePrefix); ok && name != "" {
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: ptr.To(name)}
	}
	return nil
}
