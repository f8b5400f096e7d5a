package pod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// podAnnotationsUpdate checks the annotations of an updated pod. The AppArmor annotations and the mirror annotation
// can't change.
func podAnnotationsUpdate(path *field.Path, pod, old *corev1.Pod) field.ErrorList {
	var f validation.Findings
	fixed := func(k, msg string) {
		f.AddIf(strings.HasPrefix(k, podvalidation.AppArmorPrefix), field.Forbidden(path.Key(k), "may not "+msg+" AppArmor annotations"))
		f.AddIf(k == corev1.MirrorPodAnnotationKey, field.Forbidden(path.Key(k), "may not "+msg+" mirror pod annotation"))
	}
	for k, was := range validation.Sorted(old.Annotations) {
		if v, still := pod.Annotations[k]; !still || v != was {
			fixed(k, "remove or update")
		}
	}
	for k := range validation.Sorted(pod.Annotations) {
		if _, was := old.Annotations[k]; !was {
			fixed(k, "add")
		}
	}
	f.Merge(podvalidation.UpdatedPodAnnotations(path, pod.Annotations, old.Annotations, &pod.Spec))
	return f.Errs
}
