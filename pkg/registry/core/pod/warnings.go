package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// podWarnings returns the warnings of a new pod. Updates get no warnings: they are frequent, come from controllers,
// and rarely change a field with a warning.
func podWarnings(_ context.Context, pod, old *corev1.Pod) []string {
	if old != nil {
		return nil
	}
	var l warnings.List
	l.Hostname("this is used in the Pod's hostname", pod.Name)
	l.PodTemplate(nil, &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec})
	return l
}

func podStatusWarnings(_ context.Context, pod, _ *corev1.Pod) []string {
	var l warnings.List
	for i, ip := range pod.Status.PodIPs {
		l.IP(field.NewPath("status", "podIPs").Index(i).Child("ip"), ip.IP)
	}
	for i, ip := range pod.Status.HostIPs {
		l.IP(field.NewPath("status", "hostIPs").Index(i).Child("ip"), ip.IP)
	}
	return l
}

// podAppArmorWarnings returns the warnings about AppArmor annotations of containers whose field appArmorProfile
// isn't set. It must be called before appArmorFields copies the annotations to the fields.
func podAppArmorWarnings(_ context.Context, pod, _ *corev1.Pod) []string {
	if podspec.IsWindows(&pod.Spec) {
		return nil
	}
	var l warnings.List
	for _, c := range podspec.Containers(&pod.Spec, nil) {
		key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + c.Name
		annotation, annotated := pod.Annotations[key]
		if !annotated || c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
			continue
		}
		profile := appArmorProfile(annotation)
		if profile == nil || !equality.Semantic.DeepEqual(profile, podspec.AppArmorProfile(&pod.Spec)) {
			l.At(field.NewPath("metadata", "annotations").Key(key), warnings.AppArmorMessage)
		}
	}
	return l
}
