package serviceaccount

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/admission/internal/plugintest"
)

func accounts() []runtime.Object {
	return []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "default"}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "tokenless"}, AutomountServiceAccountToken: new(false)},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "limited", Annotations: map[string]string{limitAnnotation: "true"}}, Secrets: []corev1.ObjectReference{{Name: "listed"}}, AutomountServiceAccountToken: new(false)},
	}
}

func podOfAccount(account string, change ...func(*corev1.PodSpec)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Spec: corev1.PodSpec{ServiceAccountName: account}}
	for _, c := range change {
		c(&pod.Spec)
	}
	return pod
}

func TestToken(t *testing.T) {
	t.Parallel()
	own := corev1.VolumeMount{Name: "own", MountPath: mountPath}
	p := New()
	plugintest.Start(t, p, nil, accounts()...)
	pod := podOfAccount("", func(spec *corev1.PodSpec) {
		spec.InitContainers = []corev1.Container{{Name: "i"}}
		spec.Containers = []corev1.Container{{Name: "a"}, {Name: "b", VolumeMounts: []corev1.VolumeMount{own}}}
	})
	plugintest.Run(t, p, plugintest.Create(pod), "")
	plugintest.Run(t, p, plugintest.Create(pod), "") // reinvoked, it adds nothing

	if len(pod.Spec.Volumes) != 1 || !strings.HasPrefix(pod.Spec.Volumes[0].Name, "kube-api-access-") {
		t.Fatalf("volumes: %v", pod.Spec.Volumes)
	}
	mount := corev1.VolumeMount{Name: pod.Spec.Volumes[0].Name, ReadOnly: true, MountPath: mountPath}
	want := podOfAccount("default", func(spec *corev1.PodSpec) {
		spec.InitContainers = []corev1.Container{{Name: "i", VolumeMounts: []corev1.VolumeMount{mount}}}
		spec.Containers = []corev1.Container{{Name: "a", VolumeMounts: []corev1.VolumeMount{mount}}, {Name: "b", VolumeMounts: []corev1.VolumeMount{own}}}
		spec.Volumes = []corev1.Volume{{Name: mount.Name, VolumeSource: corev1.VolumeSource{Projected: tokenVolume()}}}
		spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	})
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	container := func(spec *corev1.PodSpec) { spec.Containers = []corev1.Container{{Name: "c"}} }
	environment := []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "other"}}}}
	volume := func(secret string) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}}
		}
	}
	mirror := func(pod *corev1.Pod) *corev1.Pod {
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		return pod
	}
	ephemeral := podOfAccount("limited", func(spec *corev1.PodSpec) {
		spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e", EnvFrom: environment}}}
	})
	tests := []struct {
		name, reason, refusal string
		request               plugintest.Request
		volumes               int
	}{
		{name: "account says no", reason: "its pods get no token", request: plugintest.Create(podOfAccount("tokenless", container))},
		{name: "pod says yes", reason: "the pod's word counts more", request: plugintest.Create(podOfAccount("tokenless", container, func(s *corev1.PodSpec) { s.AutomountServiceAccountToken = new(true) })), volumes: 1},
		{name: "missing", reason: "nobody to run as", request: plugintest.Create(podOfAccount("gone")), refusal: `pods "p" is forbidden: error looking up service account ns/gone: serviceaccount "gone" not found`},
		{name: "listed secret", reason: "the account lists it", request: plugintest.Create(podOfAccount("limited", volume("listed"))), volumes: 1},
		{name: "other secret", reason: "it doesn't list this one", request: plugintest.Create(podOfAccount("limited", volume("other"))), refusal: `volume with secret.secretName="other" is not allowed because service account limited does not reference that secret`},
		{name: "ephemeral container", reason: "those come later, and count as well", request: plugintest.Update(podOfAccount("limited"), ephemeral).Of("ephemeralcontainers"), refusal: `ephemeral container e with envFrom referencing secret.secretName="other" is not allowed`},
		{name: "update", reason: "nothing of this changes", request: plugintest.Update(podOfAccount("gone"), podOfAccount("gone"))},
		{name: "mirror", reason: "it stays as the kubelet sent it", request: plugintest.Create(mirror(podOfAccount("", container)))},
		{name: "mirror with account", reason: "the kubelet has no right to it", request: plugintest.Create(mirror(podOfAccount("default"))), refusal: "a mirror pod may not reference service accounts"},
		{name: "mirror with secret", reason: "nor to secrets", request: plugintest.Create(mirror(podOfAccount("", volume("s")))), refusal: "a mirror pod may not reference secrets"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, accounts()...)
			plugintest.Run(t, p, test.request, test.refusal)
			if got := len(test.request.Object.(*corev1.Pod).Spec.Volumes); test.refusal == "" && got != test.volumes {
				t.Errorf("%s: %d volumes, want %d", test.reason, got, test.volumes)
			}
		})
	}
}
