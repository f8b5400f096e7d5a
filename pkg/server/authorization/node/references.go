package node

import (
	corev1 "k8s.io/api/core/v1"
)

// references are the names of the objects, all of its own namespace, that a pod refers to.
func references(p *corev1.Pod) map[objectKind][]string {
	refs := map[objectKind][]string{}
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		// Mirror pods are created by nodes: they must not give access to anything.
		return refs
	}
	add := func(kind objectKind, name string) {
		if name != "" {
			refs[kind] = append(refs[kind], name)
		}
	}
	add(serviceAccount, p.Spec.ServiceAccountName)
	for _, pull := range p.Spec.ImagePullSecrets {
		add(secret, pull.Name)
	}
	for _, c := range p.Spec.InitContainers {
		addEnvironment(add, c.Env, c.EnvFrom)
	}
	for _, c := range p.Spec.Containers {
		addEnvironment(add, c.Env, c.EnvFrom)
	}
	for _, c := range p.Spec.EphemeralContainers {
		addEnvironment(add, c.Env, c.EnvFrom)
	}
	for i := range p.Spec.Volumes {
		addVolume(add, p.Name, &p.Spec.Volumes[i])
	}
	for _, r := range p.Spec.ResourceClaims {
		if r.ResourceClaimName != nil {
			add(resourceClaim, *r.ResourceClaimName)
		}
	}
	for _, status := range p.Status.ResourceClaimStatuses { // claims made from a template
		if status.ResourceClaimName != nil {
			add(resourceClaim, *status.ResourceClaimName)
		}
	}
	if extended := p.Status.ExtendedResourceClaimStatus; extended != nil {
		add(resourceClaim, extended.ResourceClaimName)
	}
	return refs
}

func addEnvironment(add func(objectKind, string), variables []corev1.EnvVar, from []corev1.EnvFromSource) {
	for _, source := range from {
		if source.SecretRef != nil {
			add(secret, source.SecretRef.Name)
		}
		if source.ConfigMapRef != nil {
			add(configMap, source.ConfigMapRef.Name)
		}
	}
	for _, variable := range variables {
		if variable.ValueFrom == nil {
			continue
		}
		if ref := variable.ValueFrom.SecretKeyRef; ref != nil {
			add(secret, ref.Name)
		}
		if ref := variable.ValueFrom.ConfigMapKeyRef; ref != nil {
			add(configMap, ref.Name)
		}
	}
}

func addVolume(add func(objectKind, string), podName string, v *corev1.Volume) {
	switch source := v.VolumeSource; {
	case source.Secret != nil:
		add(secret, source.Secret.SecretName)
	case source.ConfigMap != nil:
		add(configMap, source.ConfigMap.Name)
	case source.Projected != nil:
		for _, part := range source.Projected.Sources {
			if part.Secret != nil {
				add(secret, part.Secret.Name)
			}
			if part.ConfigMap != nil {
				add(configMap, part.ConfigMap.Name)
			}
		}
	case source.PersistentVolumeClaim != nil:
		add(claim, source.PersistentVolumeClaim.ClaimName)
	case source.Ephemeral != nil:
		add(claim, podName+"-"+v.Name)
	case source.AzureFile != nil:
		add(secret, source.AzureFile.SecretName)
	case source.CSI != nil:
		add(secret, localName(source.CSI.NodePublishSecretRef))
	case source.CephFS != nil:
		add(secret, localName(source.CephFS.SecretRef))
	case source.Cinder != nil:
		add(secret, localName(source.Cinder.SecretRef))
	case source.FlexVolume != nil:
		add(secret, localName(source.FlexVolume.SecretRef))
	case source.RBD != nil:
		add(secret, localName(source.RBD.SecretRef))
	case source.ScaleIO != nil:
		add(secret, localName(source.ScaleIO.SecretRef))
	case source.ISCSI != nil:
		add(secret, localName(source.ISCSI.SecretRef))
	case source.StorageOS != nil:
		add(secret, localName(source.StorageOS.SecretRef))
	}
}

func localName(ref *corev1.LocalObjectReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}

// volumeSecrets are the secrets that a volume refers to. Those without a namespace are of its claim's.
func volumeSecrets(v *corev1.PersistentVolume) []corev1.SecretReference {
	var refs []*corev1.SecretReference
	switch source := v.Spec.PersistentVolumeSource; {
	case source.AzureFile != nil:
		ref := corev1.SecretReference{Name: source.AzureFile.SecretName}
		if source.AzureFile.SecretNamespace != nil {
			ref.Namespace = *source.AzureFile.SecretNamespace
		}
		refs = append(refs, &ref)
	case source.CephFS != nil:
		refs = append(refs, source.CephFS.SecretRef)
	case source.Cinder != nil:
		refs = append(refs, source.Cinder.SecretRef)
	case source.FlexVolume != nil:
		refs = append(refs, source.FlexVolume.SecretRef)
	case source.RBD != nil:
		refs = append(refs, source.RBD.SecretRef)
	case source.ScaleIO != nil:
		refs = append(refs, source.ScaleIO.SecretRef)
	case source.ISCSI != nil:
		refs = append(refs, source.ISCSI.SecretRef)
	case source.StorageOS != nil && source.StorageOS.SecretRef != nil:
		refs = append(refs, &corev1.SecretReference{Namespace: source.StorageOS.SecretRef.Namespace, Name: source.StorageOS.SecretRef.Name})
	case source.CSI != nil:
		// The kubelet needs no more than what is published, staged and expanded on nodes.
		refs = append(refs, source.CSI.NodePublishSecretRef, source.CSI.NodeStageSecretRef, source.CSI.NodeExpandSecretRef)
	}
	var out []corev1.SecretReference
	for _, ref := range refs {
		if ref == nil || ref.Name == "" {
			continue
		}
		named := *ref
		if named.Namespace == "" && v.Spec.ClaimRef != nil {
			named.Namespace = v.Spec.ClaimRef.Namespace
		}
		out = append(out, named)
	}
	return out
}
