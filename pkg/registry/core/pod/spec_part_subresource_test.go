package pod_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"
)

func TestPodParts(t *testing.T) {
	t.Parallel()
	requests := func(cpu string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse(cpu)}}
	}
	debugger := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debug", Image: "i", ImagePullPolicy: corev1.PullAlways,
		TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}}
	for _, test := range []struct {
		name, reason, subresource string
		// The function change changes the part in the request. The function want makes the expected
		// spec from the spec before the update.
		change, want func(*corev1.Pod)
		generation   int64
		err          string
	}{
		{
			name: "ephemeral container", reason: "the subresource updates ephemeral containers, and the generation increases",
			subresource: "ephemeralcontainers",
			change:      func(p *corev1.Pod) { p.Spec.EphemeralContainers = []corev1.EphemeralContainer{debugger} },
			want:        func(p *corev1.Pod) { p.Spec.EphemeralContainers = []corev1.EphemeralContainer{debugger} },
			generation:  2,
		},
		{
			name:        "ephemeral container with mount options",
			reason:      "the gate of the field is off, and the subresource drops the field as the pod's own endpoint does",
			subresource: "ephemeralcontainers",
			change: func(p *corev1.Pod) {
				container := debugger
				container.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v", BindMountOptions: []string{"noexec"}}}
				p.Spec.EphemeralContainers = []corev1.EphemeralContainer{container}
			},
			want: func(p *corev1.Pod) {
				container := debugger
				container.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
				p.Spec.EphemeralContainers = []corev1.EphemeralContainer{container}
			},
			generation: 2,
		},
		{
			name: "privileged ephemeral container", reason: "the server doesn't allow privileged containers (--allow-privileged)",
			subresource: "ephemeralcontainers",
			change: func(p *corev1.Pod) {
				container := debugger
				container.SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
				p.Spec.EphemeralContainers = []corev1.EphemeralContainer{container}
			},
			err: "spec.ephemeralContainers[0].securityContext.privileged: Forbidden: disallowed by cluster policy",
		},
		{
			name: "not an ephemeral container", reason: "the subresource ignores changes to other fields",
			subresource: "ephemeralcontainers",
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].Image = "other"
				p.Labels = map[string]string{"a": "b"}
				p.Status.Phase = corev1.PodFailed
			},
			want: func(*corev1.Pod) {}, generation: 1,
		},
		{
			name: "resources", reason: "the subresource updates resources, and the generation increases",
			subresource: "resize",
			change:      func(p *corev1.Pod) { p.Spec.Containers[0].Resources = requests("2") },
			want:        func(p *corev1.Pod) { p.Spec.Containers[0].Resources = requests("2") },
			generation:  2,
		},
		{
			name: "not resources", reason: "the subresource ignores changes to other fields",
			subresource: "resize",
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].Image = "other"
				p.Annotations = map[string]string{"a": "b"}
				p.Spec.EphemeralContainers = []corev1.EphemeralContainer{debugger}
			},
			want: func(*corev1.Pod) {}, generation: 1,
		},
		{
			name: "another container", reason: "the server compares containers by name",
			subresource: "resize",
			change:      func(p *corev1.Pod) { p.Spec.Containers[0].Name = "other" },
			err:         "containers may not be renamed or reordered on resize",
		},
		{
			name: "resources removed", reason: "a resize can't remove requests",
			subresource: "resize",
			change:      func(p *corev1.Pod) { p.Spec.Containers[0].Resources = corev1.ResourceRequirements{} },
			err:         "resource requests cannot be removed",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newStored(t)
			p := evictable("p", corev1.PodRunning, corev1.ConditionTrue)
			p.Spec.Containers[0].Resources = requests("1")
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			before := s.Put(corev1.Resource("pods"), p).(*corev1.Pod)
			asked := before.DeepCopy()
			test.change(asked)
			obj, created, err := s.subresource(test.subresource).(rest.Updater).Update(s.Context, "p", rest.DefaultUpdatedObjectInfo(asked),
				rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%s: %v, want %s", test.reason, err, test.err)
				}
				return
			}
			if err != nil || created {
				t.Fatalf("%s: %v, created: %t", test.reason, err, created)
			}
			want := before.DeepCopy()
			test.want(want)
			want.Generation = test.generation
			got := obj.(*corev1.Pod)
			want.ResourceVersion = got.ResourceVersion
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestPodPartsOwnAllFields checks that a client owns all fields that it sends to a subresource, as in kube-apiserver.
func TestPodPartsOwnAllFields(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	for _, subresource := range []string{"ephemeralcontainers", "resize"} {
		if reset := s.subresource(subresource).(rest.ResetFieldsStrategy).GetResetFields(); len(reset) > 0 {
			t.Errorf("pods/%s takes the ownership of %v, want nothing", subresource, reset)
		}
	}
}
