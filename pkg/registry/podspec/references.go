package podspec

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// Secrets yields the names of all Secrets to which a pod refers.
func Secrets(spec *corev1.PodSpec) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, reference := range spec.ImagePullSecrets {
			if !yield(reference.Name) {
				return
			}
		}
		for _, container := range Containers(spec, nil) {
			for _, source := range container.EnvFrom {
				if source.SecretRef != nil && !yield(source.SecretRef.Name) {
					return
				}
			}
			for _, variable := range container.Env {
				if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil && !yield(variable.ValueFrom.SecretKeyRef.Name) {
					return
				}
			}
		}
		for i := range spec.Volumes {
			for _, name := range volumeSecrets(&spec.Volumes[i].VolumeSource) {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// ConfigMaps yields the names of all ConfigMaps to which a pod refers.
func ConfigMaps(spec *corev1.PodSpec) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, container := range Containers(spec, nil) {
			for _, source := range container.EnvFrom {
				if source.ConfigMapRef != nil && !yield(source.ConfigMapRef.Name) {
					return
				}
			}
			for _, variable := range container.Env {
				if variable.ValueFrom != nil && variable.ValueFrom.ConfigMapKeyRef != nil && !yield(variable.ValueFrom.ConfigMapKeyRef.Name) {
					return
				}
			}
		}
		for i := range spec.Volumes {
			volume := &spec.Volumes[i].VolumeSource
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

// Any reports whether a sequence has an element.
func Any(names iter.Seq[string]) bool {
	for range names {
		return true
	}
	return false
}

func projections(volume *corev1.VolumeSource) []corev1.VolumeProjection {
	if volume.Projected == nil {
		return nil
	}
	return volume.Projected.Sources
}

// volumeSecrets returns the names of the Secrets to which a volume refers.
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
