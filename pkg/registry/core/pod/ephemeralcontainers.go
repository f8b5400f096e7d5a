package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// podEphemeralContainers is the part of a pod that pods/ephemeralcontainers changes (KEP-277).
var podEphemeralContainers = podPart{
	take:     func(spec, asked *corev1.PodSpec) { spec.EphemeralContainers = asked.EphemeralContainers },
	validate: validatePodEphemeralContainersUpdate,
}

// validatePodEphemeralContainersUpdate checks an update of pods/ephemeralcontainers. The update can add containers, but
// can't change or remove any.
func validatePodEphemeralContainersUpdate(pod, old *corev1.Pod) field.ErrorList {
	if podvalidation.IsMirror(&old.ObjectMeta) {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
	}
	f := podUpdate(pod, old)
	f.Merge(podAnnotationsUpdate(validation.MetadataPath.Child("annotations"), pod, old))
	path := validation.SpecPath.Child("ephemeralContainers")
	for _, was := range old.Spec.EphemeralContainers {
		i := slices.IndexFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == was.Name })
		if i < 0 {
			f.Add(field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", was.Name)))
		} else if now := pod.Spec.EphemeralContainers[i]; !apiequality.Semantic.DeepEqual(now, was) {
			f.Add(field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", was.Name,
				validation.Difference(was, now))))
		}
	}
	return f.Errs
}
