package runtimeclass

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	overhead := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	other := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
	gpu := corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists}
	class := &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "vm"}, Handler: "vm",
		Overhead:   &nodev1.Overhead{PodFixed: overhead},
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"vm": "yes"}, Tolerations: []corev1.Toleration{gpu}},
	}
	tests := []struct {
		name, reason, refusal string
		pod, want             corev1.PodSpec
	}{{
		name: "applied", reason: "the class sets the overhead and the placement, and the pod keeps its own selector",
		pod: corev1.PodSpec{RuntimeClassName: new("vm"), NodeSelector: map[string]string{"zone": "a"}},
		want: corev1.PodSpec{RuntimeClassName: new("vm"), Overhead: overhead,
			NodeSelector: map[string]string{"zone": "a", "vm": "yes"}, Tolerations: []corev1.Toleration{gpu}},
	}, {
		name: "no class", reason: "a pod without a class stays unchanged", pod: corev1.PodSpec{}, want: corev1.PodSpec{},
	}, {
		name: "missing class", reason: "the nodes can't run a pod of a missing class",
		pod: corev1.PodSpec{RuntimeClassName: new("gone")}, refusal: `pod rejected: RuntimeClass "gone" not found`,
	}, {
		name: "own overhead", reason: "only a class can set the overhead",
		pod:     corev1.PodSpec{Overhead: overhead},
		refusal: "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
	}, {
		name: "other overhead", reason: "the pod and the class have different overheads",
		pod:     corev1.PodSpec{RuntimeClassName: new("vm"), Overhead: other},
		refusal: "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
	}, {
		name: "same overhead", reason: "the pod and the class have the same overhead",
		pod: corev1.PodSpec{RuntimeClassName: new("vm"), Overhead: overhead},
		want: corev1.PodSpec{RuntimeClassName: new("vm"), Overhead: overhead,
			NodeSelector: map[string]string{"vm": "yes"}, Tolerations: []corev1.Toleration{gpu}},
	}, {
		name: "empty overhead", reason: "an empty overhead counts as none",
		pod: corev1.PodSpec{RuntimeClassName: new("vm"), Overhead: corev1.ResourceList{}},
		want: corev1.PodSpec{RuntimeClassName: new("vm"), Overhead: overhead,
			NodeSelector: map[string]string{"vm": "yes"}, Tolerations: []corev1.Toleration{gpu}},
	}, {
		name: "same selector", reason: "the pod and the class have the same selector",
		pod: corev1.PodSpec{RuntimeClassName: new("vm"), NodeSelector: map[string]string{"vm": "yes"}},
		want: corev1.PodSpec{RuntimeClassName: new("vm"), Overhead: overhead,
			NodeSelector: map[string]string{"vm": "yes"}, Tolerations: []corev1.Toleration{gpu}},
	}, {
		name: "plain class", reason: "the class has no overhead and no scheduling rules",
		pod: corev1.PodSpec{RuntimeClassName: new("plain")}, want: corev1.PodSpec{RuntimeClassName: new("plain")},
	}, {
		name: "overhead of a plain class", reason: "the class has no overhead",
		pod:     corev1.PodSpec{RuntimeClassName: new("plain"), Overhead: overhead},
		refusal: "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
	}, {
		name: "conflict", reason: "no node matches both selectors",
		pod:     corev1.PodSpec{RuntimeClassName: new("vm"), NodeSelector: map[string]string{"vm": "no"}},
		refusal: "conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no",
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, class, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, Handler: "plain"})
			pod := &corev1.Pod{Spec: *test.pod.DeepCopy()}
			plugintest.Run(t, p, plugintest.Create(pod), test.refusal)
			if diff := cmp.Diff(test.want, pod.Spec); test.refusal == "" && diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// Validate checks the pod again, because other plugins and webhooks may have changed it.
func TestValidate(t *testing.T) {
	t.Parallel()
	overhead := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "vm"}, Handler: "vm", Overhead: &nodev1.Overhead{PodFixed: overhead}}
	p := New()
	plugintest.Start(t, p, nil, class)
	for _, test := range []struct {
		name, refusal string
		spec          corev1.PodSpec
	}{
		{name: "as it was", spec: corev1.PodSpec{RuntimeClassName: new("vm"), Overhead: overhead}},
		{name: "overhead taken off", spec: corev1.PodSpec{RuntimeClassName: new("vm")},
			refusal: "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"},
		{name: "class taken off", spec: corev1.PodSpec{Overhead: overhead},
			refusal: "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"},
	} {
		t.Log(test.name)
		plugintest.Want(t, p.Validate(t.Context(), plugintest.Create(&corev1.Pod{Spec: test.spec}).Attributes(t), nil), test.refusal)
	}
}
