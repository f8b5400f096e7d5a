package limitpodhardantiaffinitytopology

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	pod := func(anti corev1.PodAntiAffinity) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &anti}}}
	}
	host, zone := corev1.PodAffinityTerm{TopologyKey: "kubernetes.io/hostname"}, corev1.PodAffinityTerm{TopologyKey: "topology.kubernetes.io/zone"}
	tests := []struct {
		name, reason, refusal string
		pod                   *corev1.Pod
	}{
		{name: "none", reason: "the pod excludes no other pod", pod: &corev1.Pod{}},
		{name: "node", reason: "pods that exclude one another from a node are common",
			pod: pod(corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{host}})},
		{name: "zone", reason: "a pod must not exclude all others from a zone", pod: pod(corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{host, zone}}),
			refusal: "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey topology.kubernetes.io/zone but only key kubernetes.io/hostname is allowed"},
		{name: "wish", reason: "preferred terms don't exclude other pods",
			pod: pod(corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: zone}}})},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plugintest.Run(t, New(), plugintest.Create(test.pod), test.refusal)
		})
	}
}
