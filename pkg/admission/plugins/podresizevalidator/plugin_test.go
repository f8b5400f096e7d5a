package podresizevalidator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func node(name, os string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelOSStable: os}},
		Status:     corev1.NodeStatus{Allocatable: resources("1", "1Gi")},
	}
}

// on returns a pod on a node, with a generation and with requests of CPU and memory.
func on(node string, generation int64, cpu, memory string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", Generation: generation}, Spec: corev1.PodSpec{
		NodeName:   node,
		Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: resources(cpu, memory)}}},
	}}
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	resize := func(node, cpu, memory string) plugintest.Request {
		return plugintest.Update(on(node, 1, "100m", "100Mi"), on(node, 2, cpu, memory)).Of("resize")
	}
	tests := []struct {
		name, reason, refusal string
		cause                 metav1.CauseType
		request               plugintest.Request
	}{
		{name: "fits", reason: "the node has enough CPU and memory", request: resize("linux", "1", "1Gi")},
		{name: "too much", reason: "the node lacks CPU and memory", request: resize("linux", "2", "2Gi"), cause: "NodeCapacity",
			refusal: `pods "p" is forbidden: node didn't have enough allocatable resources: cpu, requested: 2000, allocatable: 1000; memory, requested: 2147483648, allocatable: 1073741824`},
		{name: "platform", reason: "only nodes with Linux can resize pods", request: resize("windows", "1", "1Gi"), cause: "UnsupportedPlatform",
			refusal: `pods "p" is forbidden: pod resize is only supported on linux nodes, node "windows" is "windows"`},
		{name: "no such node", reason: "the capacity of a missing node is unknown", request: resize("gone", "1", "1Gi"),
			refusal: `pods "p" is forbidden: node "gone" not found`},
		{name: "not bound", reason: "the scheduler chooses a node with enough capacity", request: resize("", "2", "2Gi")},
		{name: "unchanged", reason: "the generation shows that the spec hasn't changed",
			request: plugintest.Update(on("gone", 1, "2", "2Gi"), on("gone", 1, "2", "2Gi")).Of("resize")},
		{name: "status", reason: "other subresources don't resize a pod",
			request: plugintest.Update(on("gone", 1, "1", "1Gi"), on("gone", 2, "2", "2Gi")).Of("status")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, node("linux", "linux"), node("windows", "windows"))
			err := p.Validate(t.Context(), test.request.Attributes(t), admission.NewObjectInterfacesFromScheme(scheme.Scheme))
			plugintest.Want(t, err, test.refusal)
			if test.cause != "" && !apierrors.HasStatusCause(err, test.cause) {
				t.Errorf("%s: want the cause %s, got %v", test.reason, test.cause, err)
			}
		})
	}
}
