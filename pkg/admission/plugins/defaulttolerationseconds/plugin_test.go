package defaulttolerationseconds

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	notReady, unreachable := toleration(corev1.TaintNodeNotReady, 10), toleration(corev1.TaintNodeUnreachable, 20)
	own := corev1.Toleration{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
	all := corev1.Toleration{Operator: corev1.TolerationOpExists}
	other := corev1.Toleration{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	tests := []struct {
		name, reason string
		given, want  []corev1.Toleration
		subresource  string
	}{
		{name: "none", reason: "the plugin adds both tolerations, in this order", want: []corev1.Toleration{notReady, unreachable}},
		{name: "own", reason: "tolerations that the user sets stay unchanged", given: []corev1.Toleration{own},
			want: []corev1.Toleration{own, unreachable}},
		{name: "all", reason: "a toleration without a key covers both taints", given: []corev1.Toleration{all},
			want: []corev1.Toleration{all}},
		{name: "other effect", reason: "scheduling is not eviction", given: []corev1.Toleration{other},
			want: []corev1.Toleration{other, notReady, unreachable}},
		{name: "subresource", reason: "a status update changes no spec", subresource: "status"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Tolerations: test.given}}
			p := New(10, 20)
			plugintest.Run(t, p, plugintest.Create(pod).Of(test.subresource), "")
			// When the plugin is called again, nothing changes.
			plugintest.Run(t, p, plugintest.Update(pod, pod).Of(test.subresource), "")
			if diff := cmp.Diff(test.want, pod.Spec.Tolerations); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
