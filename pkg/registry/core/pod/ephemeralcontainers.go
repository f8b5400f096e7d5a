package pod

import (
	corev1 "k8s.io/api/core/v1"
)

// podEphemeralContainers is the part of a pod that pods/ephemeralcontainers changes (KEP-277).
var podEphemeralContainers = podPart{
	fields:   [][]any{{"spec", "ephemeralContainers"}},
	take:     func(spec, asked *corev1.PodSpec) { spec.EphemeralContainers = asked.EphemeralContainers },
	validate: validatePodEphemeralContainersUpdate,
}
