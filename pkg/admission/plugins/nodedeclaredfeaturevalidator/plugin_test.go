package nodedeclaredfeaturevalidator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func node(name string, features ...string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{DeclaredFeatures: features}}
}

// on returns a pod on a node, with a generation and a memory limit for the whole pod.
func on(node string, generation int64, memory string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", Generation: generation}, Spec: corev1.PodSpec{
		NodeName:  node,
		Resources: &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}},
	}}
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	const feature = "InPlacePodLevelResourcesVerticalScaling"
	grow := func(node string) plugintest.Request {
		return plugintest.Update(on(node, 1, "1Gi"), on(node, 2, "2Gi")).Of("resize")
	}
	tests := []struct {
		name, reason, refusal string
		request               plugintest.Request
	}{
		{name: "declared", reason: "the node declares the feature", request: grow("able")},
		{name: "not declared", reason: "the node doesn't declare the feature", request: grow("old"),
			refusal: `pods "p" is forbidden: pod update requires features ` + feature + ` which are not available on node "old"`},
		{name: "pod", reason: "an update of the pod itself must not require the feature either",
			request: plugintest.Update(on("old", 1, "1Gi"), on("old", 2, "2Gi")), refusal: feature},
		{name: "no such node", reason: "the features of a missing node are unknown", request: grow("gone"),
			refusal: `node "gone" not found`},
		{name: "nothing required", reason: "the change requires no feature",
			request: plugintest.Update(on("old", 1, "1Gi"), on("old", 2, "1Gi")).Of("resize")},
		{name: "not bound", reason: "the scheduler chooses a node with the feature", request: grow("")},
		{name: "unchanged", reason: "the generation shows that the spec hasn't changed",
			request: plugintest.Update(on("old", 1, "1Gi"), on("old", 1, "2Gi")).Of("resize")},
		{name: "status", reason: "other subresources don't change the spec",
			request: plugintest.Update(on("old", 1, "1Gi"), on("old", 2, "2Gi")).Of("status")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, node("able", feature), node("old", "Another"))
			err := p.Validate(t.Context(), test.request.Attributes(t), admission.NewObjectInterfacesFromScheme(scheme.Scheme))
			plugintest.Want(t, err, test.refusal)
		})
	}
}
