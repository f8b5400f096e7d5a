package warnings

import (
	"context"
	"crypto/tls"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Node returns the warnings of a node.
func Node(_ context.Context, n, _ *corev1.Node) []string {
	var l List
	if n.Spec.ConfigSource != nil {
		l.At(SpecPath.Child("configSource"), "the feature is removed")
	}
	if n.Spec.DoNotUseExternalID != "" {
		l.At(SpecPath.Child("externalID"), "this field is deprecated, and is unused by Kubernetes")
	}
	for i, cidr := range n.Spec.PodCIDRs {
		l.Cidr(SpecPath.Child("podCIDRs").Index(i), cidr)
	}
	return l
}

// Secret returns the warnings of a secret: what is wrong with a TLS certificate or key.
func Secret(_ context.Context, s, _ *corev1.Secret) []string {
	if s.Type != corev1.SecretTypeTLS {
		return nil
	}
	if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// enforceMountableSecrets is an annotation of service accounts.
const enforceMountableSecrets = "kubernetes.io/enforce-mountable-secrets"

// ServiceAccount returns the warnings of a service account.
func ServiceAccount(_ context.Context, s, old *corev1.ServiceAccount) []string {
	if _, annotated := s.Annotations[enforceMountableSecrets]; !annotated {
		return nil
	}
	if old != nil {
		if _, annotated := old.Annotations[enforceMountableSecrets]; annotated {
			return nil
		}
	}
	var l List
	l.At(field.NewPath("metadata", "annotations").Key(enforceMountableSecrets),
		"deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets")
	return l
}

const storageClassMessage = `deprecated since v1.8; use "storageClassName" attribute instead`

// PersistentVolume returns the warnings of a volume.
func PersistentVolume(_ context.Context, pv, _ *corev1.PersistentVolume) []string {
	var l List
	for _, deprecated := range []struct{ key, message string }{
		{corev1.BetaStorageClassAnnotation, storageClassMessage},
		{corev1.MountOptionAnnotation, `deprecated since v1.31; use "mountOptions" attribute instead`},
	} {
		if _, ok := pv.Annotations[deprecated.key]; ok {
			l.At(field.NewPath("metadata", "annotations").Key(deprecated.key), "%s", deprecated.message)
		}
	}
	if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		l.At(SpecPath.Child("persistentVolumeReclaimPolicy"),
			"The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
	}
	if a := pv.Spec.NodeAffinity; a != nil && a.Required != nil {
		for i := range a.Required.NodeSelectorTerms {
			path := SpecPath.Child("nodeAffinity", "required", "nodeSelectorTerms").Index(i)
			l.NodeSelectorTerm(path, &a.Required.NodeSelectorTerms[i], false)
		}
	}
	for _, plugin := range []struct {
		used           bool
		field, message string
	}{
		{pv.Spec.CephFS != nil, "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
		{pv.Spec.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
		{pv.Spec.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
		{pv.Spec.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
		{pv.Spec.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
		{pv.Spec.RBD != nil, "rbd", "deprecated in v1.28, non-functional in v1.31+"},
	} {
		if plugin.used {
			l.At(SpecPath.Child(plugin.field), "%s", plugin.message)
		}
	}
	return l
}

// PersistentVolumeClaim returns the warnings of a claim.
func PersistentVolumeClaim(_ context.Context, pvc, _ *corev1.PersistentVolumeClaim) []string {
	var l List
	if _, ok := pvc.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		l.At(field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation), storageClassMessage)
	}
	l.Claim(SpecPath, &pvc.Spec)
	return l
}

// Claim adds the warnings of a claim's spec.
func (l *List) Claim(path *field.Path, spec *corev1.PersistentVolumeClaimSpec) {
	resources, storage := path.Child("resources"), corev1.ResourceStorage
	l.wholeBytes(resources.Child("requests").Key(string(storage)), spec.Resources.Requests[storage])
	l.wholeBytes(resources.Child("limits").Key(string(storage)), spec.Resources.Limits[storage])
}
