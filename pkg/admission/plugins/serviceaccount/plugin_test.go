package serviceaccount

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func accounts() []runtime.Object {
	return []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "default"},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "eager", Annotations: map[string]string{limitAnnotation: "false"}},
			AutomountServiceAccountToken: new(true)},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "tokenless"},
			AutomountServiceAccountToken: new(false)},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "limited", Annotations: map[string]string{limitAnnotation: "true"}},
			Secrets:          []corev1.ObjectReference{{Name: "listed"}},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}, AutomountServiceAccountToken: new(false)},
	}
}

func podOfAccount(account string, change ...func(*corev1.PodSpec)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Spec: corev1.PodSpec{ServiceAccountName: account}}
	for _, c := range change {
		c(&pod.Spec)
	}
	return pod
}

// A pod that is created right after its namespace waits for the account "default", which a controller makes.
func TestDefaultAccountIsAwaited(t *testing.T) {
	t.Parallel()
	p := New()
	plugintest.Start(t, p, nil)
	p.Client.(*fake.Clientset).PrependWatchReactor("serviceaccounts", func(clienttesting.Action) (bool, watch.Interface, error) {
		made := watch.NewFakeWithChanSize(1, false)
		made.Add(accounts()[0])
		return true, made, nil
	})
	pod := podOfAccount("")
	plugintest.Run(t, p, plugintest.Create(pod), "")
	if len(pod.Spec.ImagePullSecrets) != 1 {
		t.Errorf("imagePullSecrets are %v, want the secret of the account", pod.Spec.ImagePullSecrets)
	}
}

// The wait for the account "default" ends with the request.
func TestAbsentDefaultAccount(t *testing.T) {
	t.Parallel()
	p := New()
	plugintest.Start(t, p, nil)
	ctx, cancel := context.WithCancel(t.Context())
	p.Client.(*fake.Clientset).PrependWatchReactor("serviceaccounts", func(clienttesting.Action) (bool, watch.Interface, error) {
		cancel()
		return true, watch.NewFake(), nil
	})
	err := p.Admit(ctx, plugintest.Create(podOfAccount("")).Attributes(t), nil)
	plugintest.Want(t, err, `error looking up service account ns/default: serviceaccount "default" not found`)
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
	plugintest.Run(t, p, plugintest.Create(pod), "") // a second call adds nothing

	if len(pod.Spec.Volumes) != 1 || !strings.HasPrefix(pod.Spec.Volumes[0].Name, "kube-api-access-") {
		t.Fatalf("volumes: %v", pod.Spec.Volumes)
	}
	mount := corev1.VolumeMount{Name: pod.Spec.Volumes[0].Name, ReadOnly: true, MountPath: mountPath}
	want := podOfAccount("default", func(spec *corev1.PodSpec) {
		spec.InitContainers = []corev1.Container{{Name: "i", VolumeMounts: []corev1.VolumeMount{mount}}}
		spec.Containers = []corev1.Container{{Name: "a", VolumeMounts: []corev1.VolumeMount{mount}}, {Name: "b", VolumeMounts: []corev1.VolumeMount{own}}}
		spec.Volumes = []corev1.Volume{{Name: mount.Name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: new(int32(0o644)),
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3607))}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
					{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
			},
		}}}}
		spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
		spec.DeprecatedServiceAccount = "default" // the older name of serviceAccountName
	})
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A pod keeps its own token volume, mount, or image pull secrets.
func TestExisting(t *testing.T) {
	t.Parallel()
	own := []corev1.VolumeMount{{Name: "own", MountPath: mountPath}}
	volumes := []corev1.Volume{{Name: "first"}, {Name: "kube-api-access-abcde"}}
	pull := []corev1.LocalObjectReference{{Name: "mine"}}
	tests := []struct {
		name, reason string
		given, want  corev1.PodSpec
	}{{
		name:   "volume",
		reason: "the volume is from an earlier run of the plugin",
		given: corev1.PodSpec{Volumes: volumes,
			Containers: []corev1.Container{{VolumeMounts: []corev1.VolumeMount{{Name: "first", MountPath: "/first"}}}}},
		want: corev1.PodSpec{Volumes: volumes, Containers: []corev1.Container{{VolumeMounts: []corev1.VolumeMount{
			{Name: "first", MountPath: "/first"}, {Name: "kube-api-access-abcde", MountPath: mountPath, ReadOnly: true}}}}},
	}, {
		name:   "volume comes first",
		reason: "the position of the volume doesn't matter",
		given:  corev1.PodSpec{Volumes: volumes[1:], Containers: []corev1.Container{{}}},
		want: corev1.PodSpec{Volumes: volumes[1:], Containers: []corev1.Container{{VolumeMounts: []corev1.VolumeMount{
			{Name: "kube-api-access-abcde", MountPath: mountPath, ReadOnly: true}}}}},
	}, {
		name:   "mounts",
		reason: "no container mounts the volume",
		given:  corev1.PodSpec{Containers: []corev1.Container{{VolumeMounts: own}}},
		want:   corev1.PodSpec{Containers: []corev1.Container{{VolumeMounts: own}}},
	}, {
		name:   "pull secrets",
		reason: "the pull secrets of the account are for pods without pull secrets",
		given:  corev1.PodSpec{ImagePullSecrets: pull},
		want:   corev1.PodSpec{ImagePullSecrets: pull},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, accounts()...)
			test.given.ServiceAccountName, test.want.ServiceAccountName = "default", "default"
			if test.want.ImagePullSecrets == nil {
				test.want.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
			}
			pod := podOfAccount("default", func(spec *corev1.PodSpec) { *spec = test.given })
			plugintest.Run(t, p, plugintest.Create(pod), "")
			if diff := cmp.Diff(test.want, pod.Spec); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
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
	variables := func(names ...string) []corev1.EnvVar {
		env := []corev1.EnvVar{{Name: "plain", Value: "x"}, {Name: "field", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{}}}}
		for _, name := range names {
			env = append(env, corev1.EnvVar{Name: "v", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}})
		}
		return env
	}
	limited := func(change func(*corev1.PodSpec)) plugintest.Request {
		return plugintest.Create(podOfAccount("limited", change))
	}
	projected := func(sources ...corev1.VolumeProjection) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			spec.Volumes = []corev1.Volume{{Name: "e"}, {Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}}}
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
		{name: "account says no", reason: "pods of the account get no token",
			request: plugintest.Create(podOfAccount("tokenless", container))},
		{name: "pod says yes", reason: "the field of the pod takes precedence",
			request: plugintest.Create(podOfAccount("tokenless", container, func(s *corev1.PodSpec) { s.AutomountServiceAccountToken = new(true) })),
			volumes: 1},
		{name: "pod says no", reason: "the field of the pod takes precedence",
			request: plugintest.Create(podOfAccount("eager", container, func(s *corev1.PodSpec) { s.AutomountServiceAccountToken = new(false) }))},
		{name: "account says yes", reason: "pods of the account get a token",
			request: plugintest.Create(podOfAccount("eager", container)), volumes: 1},
		{name: "missing", reason: "the account doesn't exist", request: plugintest.Create(podOfAccount("gone")),
			refusal: `pods "p" is forbidden: error looking up service account ns/gone: serviceaccount "gone" not found`},
		{name: "listed secret", reason: "the account lists the secret",
			request: plugintest.Create(podOfAccount("limited", volume("listed"))), volumes: 1},
		{name: "other secret", reason: "the account doesn't list the secret",
			request: plugintest.Create(podOfAccount("limited", volume("other"))),
			refusal: `volume with secret.secretName="other" is not allowed because service account limited does not reference that secret`},
		{name: "account that doesn't limit", reason: "the account doesn't have the annotation that limits secrets",
			request: plugintest.Create(podOfAccount("eager", volume("other"))), volumes: 1},
		{name: "listed variable", reason: "the account lists the secret of the variable",
			request: limited(func(s *corev1.PodSpec) { s.Containers = []corev1.Container{{Name: "c", Env: variables("listed")}} })},
		{name: "other variable", reason: "the account doesn't list the secret", request: limited(func(s *corev1.PodSpec) {
			s.Containers = []corev1.Container{{Name: "c", Env: variables("listed", "other")}}
		}),
			refusal: `container c with envVar v referencing secret.secretName="other" is not allowed because service account limited does not reference that secret`},
		{name: "init container", reason: "variables of init containers are checked too", request: limited(func(s *corev1.PodSpec) { s.InitContainers = []corev1.Container{{Name: "i", Env: variables("other")}} }),
			refusal: `init container i with envVar v referencing secret.secretName="other" is not allowed`},
		{name: "listed source", reason: "the account lists the secret of the source", request: limited(func(s *corev1.PodSpec) {
			s.Containers = []corev1.Container{{EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{}}, {SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "listed"}}}}}}
		})},
		{name: "pull secret", reason: "the account lists the pull secret",
			request: limited(func(s *corev1.PodSpec) { s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}} })},
		{name: "other pull secret", reason: "a secret that is listed for mounting isn't listed for pulling images", request: limited(func(s *corev1.PodSpec) {
			s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}, {Name: "listed"}}
		}),
			refusal: `imagePullSecrets[1].name="listed" is not allowed because service account limited does not reference that imagePullSecret`},
		{name: "ephemeral container of no account", reason: "a pod without an account may read nothing",
			request: plugintest.Update(podOfAccount(""), podOfAccount("")).Of("ephemeralcontainers"),
			refusal: "no service account specified for pod ns/p"},
		{name: "listed ephemeral container", reason: "the account lists the secret of the ephemeral container, and the plugin ignores the rest of the pod", request: plugintest.Update(podOfAccount("limited"), podOfAccount("limited", volume("other"), func(s *corev1.PodSpec) {
			s.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Env: variables("listed")}}}
		})).Of("ephemeralcontainers"), volumes: 1},
		{name: "ephemeral container", reason: "ephemeral containers come later and are checked too",
			request: plugintest.Update(podOfAccount("limited"), ephemeral).Of("ephemeralcontainers"),
			refusal: `ephemeral container e with envFrom referencing secret.secretName="other" is not allowed`},
		{name: "update", reason: "an update of a pod can't change these fields",
			request: plugintest.Update(podOfAccount("gone"), podOfAccount("gone"))},
		{name: "mirror", reason: "a mirror pod stays unchanged", request: plugintest.Create(mirror(podOfAccount("", container)))},
		{name: "mirror with account", reason: "the kubelet has no permission for the account",
			request: plugintest.Create(mirror(podOfAccount("default"))),
			refusal: "a mirror pod may not reference service accounts"},
		{name: "mirror with secret", reason: "a mirror pod can't have secrets",
			request: plugintest.Create(mirror(podOfAccount("", volume("s")))),
			refusal: "a mirror pod may not reference secrets"},
		{name: "mirror with token", reason: "a mirror pod can't have tokens", request: plugintest.Create(mirror(podOfAccount("", projected(corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}}, corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}})))),
			refusal: "a mirror pod may not use ServiceAccountToken volume projections"},
		{name: "mirror with fields", reason: "the sources contain only data of the pod itself",
			request: plugintest.Create(mirror(podOfAccount("", projected(corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}})))),
			volumes: 2},
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
