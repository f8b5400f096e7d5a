package nodeauthorizer

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

// references returns the names of the objects in the pod's namespace that the pod refers to.
func references(p *corev1.Pod) map[objectKind][]string {
	refs := map[objectKind][]string{}
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		// A node creates mirror pods by itself. It must not gain access to objects by a mirror pod that refers to them.
		return refs
	}
	add := func(kind objectKind, name string) {
		if name != "" {
			refs[kind] = append(refs[kind], name)
		}
	}
	add(serviceAccount, p.Spec.ServiceAccountName)
	for name := range podspec.Secrets(&p.Spec) {
		add(secret, name)
	}
	for name := range podspec.ConfigMaps(&p.Spec) {
		add(configMap, name)
	}
	for i := range p.Spec.Volumes {
		switch v := &p.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			add(claim, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			add(claim, p.Name+"-"+v.Name)
		}
	}
	for _, r := range p.Spec.ResourceClaims {
		if r.ResourceClaimName != nil {
			add(resourceClaim, *r.ResourceClaimName)
		}
	}
	for _, status := range p.Status.ResourceClaimStatuses { // names of claims that a controller makes from templates
		if status.ResourceClaimName != nil {
			add(resourceClaim, *status.ResourceClaimName)
		}
	}
	if extended := p.Status.ExtendedResourceClaimStatus; extended != nil {
		add(resourceClaim, extended.ResourceClaimName)
	}
	return refs
}

// volumeSecrets returns the secrets that a kubelet needs for a volume. If the volume names no namespace for a secret,
// the namespace is that of the volume's claim.
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
		// The kubelet needs only the secrets for publishing, staging and expanding on nodes.
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
