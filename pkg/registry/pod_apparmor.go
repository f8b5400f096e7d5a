package registry

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// maxLocalhostProfile is how long the name of a node's own profile may be.
const maxLocalhostProfile = 4095

// appArmorFields copies AppArmor profiles from the annotations of old clients to the
// fields of the containers (KEP-24), where they say something that the fields don't.
func appArmorFields(pod *corev1.Pod) {
	if pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows {
		return
	}
	var ofPod *corev1.AppArmorProfile
	if pod.Spec.SecurityContext != nil {
		ofPod = pod.Spec.SecurityContext.AppArmorProfile
	}
	set := func(name string, context **corev1.SecurityContext) {
		annotation, annotated := pod.Annotations[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+name]
		if !annotated || *context != nil && (*context).AppArmorProfile != nil {
			return
		}
		profile := warnings.AppArmorProfile(annotation)
		if profile == nil || !validLocalhostProfile(profile.LocalhostProfile) || apiequality.Semantic.DeepEqual(profile, ofPod) {
			return
		}
		if *context == nil {
			*context = &corev1.SecurityContext{}
		}
		(*context).AppArmorProfile = profile
	}
	for i := range pod.Spec.InitContainers {
		set(pod.Spec.InitContainers[i].Name, &pod.Spec.InitContainers[i].SecurityContext)
	}
	for i := range pod.Spec.Containers {
		set(pod.Spec.Containers[i].Name, &pod.Spec.Containers[i].SecurityContext)
	}
	for i := range pod.Spec.EphemeralContainers {
		set(pod.Spec.EphemeralContainers[i].Name, &pod.Spec.EphemeralContainers[i].SecurityContext)
	}
}

func validLocalhostProfile(name *string) bool {
	return name == nil || strings.TrimSpace(*name) == *name && len(*name) <= maxLocalhostProfile
}
