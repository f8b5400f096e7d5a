package warnings

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// volumes adds the warnings about the volumes of a pod.
func (l templateWarnings) volumes(path *field.Path, volumes []corev1.Volume) {
	for i, v := range volumes {
		at := path.Index(i)
		for _, plugin := range []struct {
			used           bool
			field, message string
		}{
			{v.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
			{v.GitRepo != nil, "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
			{v.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
			{v.Flocker != nil, "flocker", "deprecated in v1.22, non-functional in v1.25+"},
			{v.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
			{v.Quobyte != nil, "quobyte", "deprecated in v1.22, non-functional in v1.25+"},
			{v.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
			{v.CephFS != nil, "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
			{v.RBD != nil, "rbd", "deprecated in v1.28, non-functional in v1.31+"},
		} {
			if plugin.used {
				l.At(at.Child(plugin.field), "%s", plugin.message)
			}
		}
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			l.Claim(at.Child("ephemeral", "volumeClaimTemplate", "spec"), &v.Ephemeral.VolumeClaimTemplate.Spec)
		}
	}
	for i := range volumes {
		l.overlaps(&volumes[i])
	}
}

// overlaps warns of files in a volume that hide each other: they have the same path, or the path of one file is
// the folder of the other file. It also warns of an empty source of a projected volume.
func (l templateWarnings) overlaps(v *corev1.Volume) {
	var files []volumeFile
	kind := ""
	switch {
	case v.ConfigMap != nil:
		kind, files = fmt.Sprintf("ConfigMap %q", v.ConfigMap.Name), keyFiles(v.ConfigMap.Items, "")
	case v.Secret != nil:
		kind, files = fmt.Sprintf("Secret %q", v.Secret.SecretName), keyFiles(v.Secret.Items, "")
	case v.DownwardAPI != nil:
		kind, files = "DownwardAPI", downwardFiles(v.DownwardAPI.Items, "")
	case v.Projected != nil:
		kind = "Projected"
		for i := range v.Projected.Sources {
			source := &v.Projected.Sources[i]
			if *source == (corev1.VolumeProjection{}) {
				l.Add(fmt.Sprintf("volume %q (Projected) has no sources provided", v.Name))
			}
			files = append(files, projectedFiles(source)...)
		}
	}
	for i, file := range files {
		for _, earlier := range files[:i] {
			if file.overlaps(earlier) {
				l.Add(fmt.Sprintf("volume %q (%s): overlapping paths: %s with %s", v.Name, kind, file, earlier))
			}
		}
	}
}

// volumeFile is a file in a volume. The field "source" says where the file comes from, or is "".
type volumeFile struct{ path, source string }

func newVolumeFile(path, source string) volumeFile {
	return volumeFile{strings.TrimRight(path, "/"), source}
}

func (f volumeFile) String() string {
	if f.source == "" {
		return fmt.Sprintf("%q", f.path)
	}
	return fmt.Sprintf("%q (%s)", f.path, f.source)
}

func (f volumeFile) overlaps(other volumeFile) bool {
	if f.path == "" || other.path == "" {
		return false
	}
	a, b := f.path+"/", other.path+"/"
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

func keyFiles(items []corev1.KeyToPath, source string) []volumeFile {
	var files []volumeFile
	for _, item := range items {
		files = append(files, newVolumeFile(item.Path, source))
	}
	return files
}

func downwardFiles(items []corev1.DownwardAPIVolumeFile, source string) []volumeFile {
	var files []volumeFile
	for _, item := range items {
		files = append(files, newVolumeFile(item.Path, source))
	}
	return files
}

// projectedFiles returns the files that a source of a projected volume writes.
func projectedFiles(p *corev1.VolumeProjection) []volumeFile {
	switch {
	case p.ConfigMap != nil && p.ConfigMap.Items != nil:
		return keyFiles(p.ConfigMap.Items, fmt.Sprintf("ConfigMap %q", p.ConfigMap.Name))
	case p.Secret != nil && p.Secret.Items != nil:
		return keyFiles(p.Secret.Items, fmt.Sprintf("Secret %q", p.Secret.Name))
	case p.DownwardAPI != nil && p.DownwardAPI.Items != nil:
		return downwardFiles(p.DownwardAPI.Items, "DownwardAPI")
	case p.ServiceAccountToken != nil:
		return []volumeFile{newVolumeFile(p.ServiceAccountToken.Path, "ServiceAccountToken")}
	case p.ClusterTrustBundle != nil:
		name := ptr.Deref(p.ClusterTrustBundle.Name, ptr.Deref(p.ClusterTrustBundle.SignerName, ""))
		return []volumeFile{newVolumeFile(p.ClusterTrustBundle.Path, fmt.Sprintf("ClusterTrustBundle %q", name))}
	case p.PodCertificate != nil:
		// An optional file without a path overlaps nothing.
		return []volumeFile{
			newVolumeFile(p.PodCertificate.CertificateChainPath, "PodCertificate chain"),
			newVolumeFile(p.PodCertificate.KeyPath, "PodCertificate key"),
			newVolumeFile(p.PodCertificate.CredentialBundlePath, "PodCertificate credential bundle"),
		}
	}
	return nil
}
