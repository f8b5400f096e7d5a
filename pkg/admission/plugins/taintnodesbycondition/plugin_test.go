package taintnodesbycondition

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	notReady := corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}
	evicting := corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute}
	given := corev1.Taint{Key: "node.kubernetes.io/not-ready", Value: "x", Effect: corev1.TaintEffectNoSchedule}
	tests := []struct {
		name, reason string
		given, want  []corev1.Taint
	}{
		{name: "none", reason: "the condition of a new node isn't known yet", want: []corev1.Taint{notReady}},
		{name: "other effect", reason: "taints differ by key and effect", given: []corev1.Taint{evicting},
			want: []corev1.Taint{evicting, notReady}},
		{name: "present", reason: "the value doesn't matter", given: []corev1.Taint{given}, want: []corev1.Taint{given}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			node := &corev1.Node{Spec: corev1.NodeSpec{Taints: test.given}}
			plugintest.Run(t, New(), plugintest.Create(node), "")
			if diff := cmp.Diff(test.want, node.Spec.Taints); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
