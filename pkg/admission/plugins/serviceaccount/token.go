package serviceaccount

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/storage/names"
)

const (
	// mountPath is the path at which client libraries look for the token.
	mountPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	// volumePrefix is the prefix of the name of the token's volume.
	volumePrefix = "kube-api-access-"
	// tokenSeconds is the lifetime of a token: an hour, and a few seconds more. The additional seconds distinguish
	// these tokens from tokens that users request.
	tokenSeconds = 3607
)

// mountToken mounts a volume with a token, the server's certificate authority and the namespace in each container that
// has no mount at mountPath. If a container gets the mount, and the pod has no volume with the prefix volumePrefix,
// mountToken adds the volume to the pod.
func mountToken(pod *corev1.Pod) {
	mount := corev1.VolumeMount{ReadOnly: true, MountPath: mountPath}
	existing := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, volumePrefix) })
	if existing >= 0 {
		mount.Name = pod.Spec.Volumes[existing].Name
	} else {
		mount.Name = names.SimpleNameGenerator.GenerateName(volumePrefix)
	}

	mounted := false
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if !slices.ContainsFunc(containers[i].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == mountPath }) {
				containers[i].VolumeMounts = append(containers[i].VolumeMounts, mount)
				mounted = true
			}
		}
	}
	if mounted && existing < 0 {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: mount.Name, VolumeSource: corev1.VolumeSource{Projected: tokenVolume()}})
	}
}

func tokenVolume() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{
		DefaultMode: new(corev1.ProjectedVolumeSourceDefaultMode),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(tokenSeconds))}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
			}}},
		},
	}
}
