package extendedresourcetoleration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	asks := func(names ...corev1.ResourceName) corev1.Container {
		requests := corev1.ResourceList{}
		for _, name := range names {
			requests[name] = resource.MustParse("1")
		}
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: requests}}
	}
	tolerates := func(name string) corev1.Toleration {
		return corev1.Toleration{Key: name, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	}
	tests := []struct {
		name, reason string
		pod          corev1.PodSpec
		want         []corev1.Toleration
	}{
		{name: "native", reason: "every node has CPU", pod: corev1.PodSpec{Containers: []corev1.Container{asks("cpu")}}},
		{name: "extended", reason: "the resources of all containers get tolerations, sorted by name",
			pod:  corev1.PodSpec{Containers: []corev1.Container{asks("example.com/gpu", "cpu")}, InitContainers: []corev1.Container{asks("example.com/dongle")}},
			want: []corev1.Toleration{tolerates("example.com/dongle"), tolerates("example.com/gpu")}},
		{name: "tolerated", reason: "a resource of two containers gets one toleration",
			pod:  corev1.PodSpec{Containers: []corev1.Container{asks("example.com/gpu")}, Tolerations: []corev1.Toleration{tolerates("example.com/gpu")}},
			want: []corev1.Toleration{tolerates("example.com/gpu")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{Spec: test.pod}
			plugintest.Run(t, New(), plugintest.Create(pod), "")
			if diff := cmp.Diff(test.want, pod.Spec.Tolerations); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
