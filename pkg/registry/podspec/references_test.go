package podspec

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestReferences(t *testing.T) {
	t.Parallel()
	local := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	env := func(secret, configMap string) ([]corev1.EnvVar, []corev1.EnvFromSource) {
		return []corev1.EnvVar{
				{ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: local(secret)}}},
				{ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: local(configMap)}}},
			}, []corev1.EnvFromSource{
				{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: local(secret + "-all")}},
				{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: local(configMap + "-all")}},
			}
	}
	container := func(secret, configMap string) corev1.Container {
		variables, from := env(secret, configMap)
		return corev1.Container{Env: variables, EnvFrom: from}
	}
	variables, from := env("ephemeral", "ephemeral")
	spec := &corev1.PodSpec{
		ImagePullSecrets:    []corev1.LocalObjectReference{local("pull")},
		InitContainers:      []corev1.Container{container("init", "init")},
		Containers:          []corev1.Container{container("main", "main")},
		EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Env: variables, EnvFrom: from}}},
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "volume"}}},
			{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: local("volume")}}},
			{VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{NodePublishSecretRef: &corev1.LocalObjectReference{Name: "csi"}}}},
			{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: local("projected")}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: local("projected")}},
			}}}},
		},
	}

	wantSecrets := []string{"pull", "init-all", "init", "main-all", "main", "ephemeral-all", "ephemeral", "volume", "csi", "projected"}
	if diff := cmp.Diff(wantSecrets, slices.Collect(Secrets(spec))); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	wantConfigMaps := []string{"init-all", "init", "main-all", "main", "ephemeral-all", "ephemeral", "volume", "projected"}
	if diff := cmp.Diff(wantConfigMaps, slices.Collect(ConfigMaps(spec))); diff != "" {
		t.Errorf("config maps (-want +got):\n%s", diff)
	}
	if Any(Secrets(&corev1.PodSpec{})) || !Any(Secrets(spec)) {
		t.Error("Any must tell whether there is one")
	}
}
