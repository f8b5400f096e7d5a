package defaults

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

func TestImagePullPolicy(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("a", 64)
	for _, test := range []struct {
		name, reason, image string
		policy, want        corev1.PullPolicy
	}{
		{"no tag", "latest is the default tag", "nginx", "", corev1.PullAlways},
		{"latest", "the tag can move", "nginx:latest", "", corev1.PullAlways},
		{"tag", "a version doesn't move", "nginx:1.29", "", corev1.PullIfNotPresent},
		{"digest", "the content is fixed", "nginx" + digest, "", corev1.PullIfNotPresent},
		{"latest with a digest", "as in kube-apiserver, the tag determines the policy", "nginx:latest" + digest, "", corev1.PullAlways},
		{"port", "the colon belongs to the port, and not to a tag", "registry:5000/nginx", "", corev1.PullAlways},
		{"malformed", "the image can't be pulled", "NGINX:latest", "", corev1.PullIfNotPresent},
		{"image ID", "an ID has no tag", strings.Repeat("a", 64), "", corev1.PullIfNotPresent},
		{"policy", "the client has set the policy", "nginx:latest", corev1.PullNever, corev1.PullNever},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			policy := test.policy
			imagePullPolicy(&policy, test.image)
			if policy != test.want {
				t.Errorf("%s: policy %q, want %q", test.reason, policy, test.want)
			}
		})
	}
}

func TestResourceList(t *testing.T) {
	t.Parallel()
	list := corev1.ResourceList{"cpu": resource.MustParse("100u"), "memory": resource.MustParse("1500m")}
	ResourceList(list)
	for name, want := range map[corev1.ResourceName]string{"cpu": "1m", "memory": "1500m"} {
		if got := list[name]; got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("%s is %s, want %s: quantities have thousandths at the least", name, got.String(), want)
		}
	}
}

func TestAddMissing(t *testing.T) {
	t.Parallel()
	to := corev1.ResourceList{"cpu": resource.MustParse("1")}
	from := corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("2"), "pods": resource.MustParse("2")}
	AddMissing(to, from, func(name corev1.ResourceName) bool { return name != "pods" })
	want := corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("2")}
	if diff := cmp.Diff(want, to); diff != "" {
		t.Errorf("only accepted resources that the list lacks are copied (-want +got):\n%s", diff)
	}
}

func TestLabelsOf(t *testing.T) {
	t.Parallel()
	template := map[string]string{"app": "web"}
	var none map[string]string
	LabelsOf(template, &none)
	template["job"] = "j"
	if none["job"] != "j" {
		t.Error("an object without labels must share the map of its template: a Job gets the labels that its template gets later")
	}
	own := map[string]string{"a": "b"}
	LabelsOf(template, &own)
	if diff := cmp.Diff(map[string]string{"a": "b"}, own); diff != "" {
		t.Errorf("an object keeps its own labels (-want +got):\n%s", diff)
	}
}

func TestPodSpec(t *testing.T) {
	t.Parallel()
	spec := corev1.PodSpec{
		ServiceAccountName: "web",
		Containers: []corev1.Container{{
			Image:         "nginx:1.29",
			Ports:         []corev1.ContainerPort{{ContainerPort: 80}},
			LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}, PeriodSeconds: 5},
		}},
		Volumes: []corev1.Volume{{Name: "nothing"},
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}}},
	}
	want := corev1.PodSpec{
		DNSPolicy: corev1.DNSClusterFirst, RestartPolicy: corev1.RestartPolicyAlways, SchedulerName: corev1.DefaultSchedulerName,
		ServiceAccountName: "web", DeprecatedServiceAccount: "web",
		SecurityContext: &corev1.PodSecurityContext{}, TerminationGracePeriodSeconds: ptr.To[int64](30),
		Containers: []corev1.Container{{
			Image: "nginx:1.29", ImagePullPolicy: corev1.PullIfNotPresent,
			TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			Ports: []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ProtocolTCP}},
			LivenessProbe: &corev1.Probe{
				ProbeHandler:   corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Scheme: corev1.URISchemeHTTP}},
				TimeoutSeconds: 1, PeriodSeconds: 5, SuccessThreshold: 1, FailureThreshold: 3,
			},
		}},
		Volumes: []corev1.Volume{
			{Name: "nothing", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{DefaultMode: ptr.To[int32](0o644)}}},
		},
	}
	for _, reason := range []string{"fields that the client has set stay", "the second time changes nothing"} {
		PodSpec(&spec)
		if diff := cmp.Diff(want, spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}
