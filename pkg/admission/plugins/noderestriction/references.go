package noderestriction

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

// references returns the resource of other objects to which a pod refers, in the words of kube-apiserver, or "" if it
// refers to none. If the pod refers to several resources, references returns one of them.
func references(spec *corev1.PodSpec) string {
	switch {
	case spec.ServiceAccountName != "":
		return "serviceaccounts"
	case podspec.Any(podspec.Secrets(spec)):
		return "secrets"
	case podspec.Any(podspec.ConfigMaps(spec)):
		return "configmaps"
	case len(spec.ResourceClaims) > 0:
		return "resourceclaims"
	}
	for i := range spec.Volumes {
		if referenced := volumeReferences(&spec.Volumes[i].VolumeSource); referenced != "" {
			return referenced
		}
	}
	return ""
}

// volumeReferences returns the resource to which a volume refers, or "". It ignores references to secrets and config
// maps, because references finds these in the whole pod.
func volumeReferences(volume *corev1.VolumeSource) string {
	switch {
	case volume.CSI != nil:
		return "csidrivers (via CSI volumes)"
	case volume.Glusterfs != nil:
		return "endpoints (via glusterFS volumes)"
	case volume.PersistentVolumeClaim != nil:
		return "persistentvolumeclaims"
	case volume.Ephemeral != nil:
		return "persistentvolumeclaims (via ephemeral volumes)"
	case volume.Projected == nil:
		return ""
	}
	for i := range volume.Projected.Sources {
		switch source := &volume.Projected.Sources[i]; {
		case source.ServiceAccountToken != nil:
			return "serviceaccounts (via projected volumes)"
		case source.ClusterTrustBundle != nil:
			return "clustertrustbundles"
		case source.PodCertificate != nil:
			return "podcertificates"
		}
	}
	return ""
}
