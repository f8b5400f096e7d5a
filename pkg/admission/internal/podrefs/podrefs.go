// Package podrefs finds the objects that a pod refers to.
package podrefs

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// Secrets yields the names of the secrets that the pod refers to, wherever it does.
func Secrets(pod *corev1.Pod) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, reference := range pod.Spec.ImagePullSecrets {
			if !yield(reference.Name) {
				return
			}
		}
		for container := range containers(pod) {
			for _, source := range container.envFrom {
				if source.SecretRef != nil && !yield(source.SecretRef.Name) {
					return
				}
			}
			for _, variable := range container.env {
				if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil && !yield(variable.ValueFrom.SecretKeyRef.Name) {
					return
				}
			}
		}
		for i := range pod.Spec.Volumes {
			for _, name := range volumeSecrets(&pod.Spec.Volumes[i].VolumeSource) {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// ConfigMaps yields the names of the config maps that the pod refers to, wherever it does.
func ConfigMaps(pod *corev1.Pod) iter.Seq[string] {
	return func(yield func(string) bool) {
		for container := range containers(pod) {
			for _, source := range container.envFrom {
				if source.ConfigMapRef != nil && !yield(source.ConfigMapRef.Name) {
					return
				}
			}
			for _, variable := range container.env {
				if variable.ValueFrom != nil && variable.ValueFrom.ConfigMapKeyRef != nil && !yield(variable.ValueFrom.ConfigMapKeyRef.Name) {
					return
				}
			}
		}
		for i := range pod.Spec.Volumes {
			volume := &pod.Spec.Volumes[i].VolumeSource
			if volume.ConfigMap != nil && !yield(volume.ConfigMap.Name) {
				return
			}
			for _, source := range projections(volume) {
				if source.ConfigMap != nil && !yield(source.ConfigMap.Name) {
					return
				}
			}
		}
	}
}

// Any tells whether a sequence has an element.
func Any(names iter.Seq[string]) bool {
	for range names {
		return true
	}
	return false
}

// container is what all kinds of containers have in common.
type container struct {
	env     []corev1.EnvVar
	envFrom []corev1.EnvFromSource
}

func containers(pod *corev1.Pod) iter.Seq[container] {
	return func(yield func(container) bool) {
		for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range list {
				if !yield(container{list[i].Env, list[i].EnvFrom}) {
					return
				}
			}
		}
		for i := range pod.Spec.EphemeralContainers {
			if !yield(container{pod.Spec.EphemeralContainers[i].Env, pod.Spec.EphemeralContainers[i].EnvFrom}) {
				return
			}
		}
	}
}

func projections(volume *corev1.VolumeSource) []corev1.VolumeProjection {
	if volume.Projected == nil {
		return nil
	}
	return volume.Projected.Sources
}

// volumeSecrets returns the names of the secrets that a volume is made of or opened with.
func volumeSecrets(volume *corev1.VolumeSource) []string {
	var names []string
	add := func(reference *corev1.LocalObjectReference) {
		if reference != nil {
			names = append(names, reference.Name)
		}
	}
	switch {
	case volume.Secret != nil:
		names = append(names, volume.Secret.SecretName)
	case volume.AzureFile != nil:
		names = append(names, volume.AzureFile.SecretName)
	case volume.CephFS != nil:
		add(volume.CephFS.SecretRef)
	case volume.Cinder != nil:
		add(volume.Cinder.SecretRef)
	case volume.FlexVolume != nil:
		add(volume.FlexVolume.SecretRef)
	case volume.RBD != nil:
		add(volume.RBD.SecretRef)
	case volume.ScaleIO != nil:
		add(volume.ScaleIO.SecretRef)
	case volume.ISCSI != nil:
		add(volume.ISCSI.SecretRef)
	case volume.StorageOS != nil:
		add(volume.StorageOS.SecretRef)
	case volume.CSI != nil:
		add(volume.CSI.NodePublishSecretRef)
	}
	for _, source := range projections(volume) {
		if source.Secret != nil {
			add(&source.Secret.LocalObjectReference)
		}
	}
	return names
}
