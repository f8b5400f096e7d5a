package podnodeselector

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	const config = "podNodeSelectorPluginConfig:\n  clusterDefaultNodeSelector: zone=a\n  strict: zone=a,disk=ssd\n"
	tests := []struct {
		name, reason, namespace, refusal string
		selector, want                   map[string]string
	}{
		{name: "default", reason: "a namespace without the annotation has the default selector", namespace: "plain",
			selector: map[string]string{"disk": "hdd"}, want: map[string]string{"disk": "hdd", "zone": "a"}},
		{name: "annotation", reason: "the annotation has the selector", namespace: "annotated", want: map[string]string{"zone": "b"}},
		{name: "conflict", reason: "no node is in both zones", namespace: "annotated",
			selector: map[string]string{"zone": "a"},
			refusal:  "pod node label selector conflicts with its namespace node label selector"},
		{name: "allowed", reason: "the configuration allows the pod's own selector", namespace: "strict",
			selector: map[string]string{"disk": "ssd"}, want: map[string]string{"disk": "ssd", "zone": "a"}},
		{name: "not allowed", reason: "the namespace doesn't allow this selector", namespace: "strict",
			selector: map[string]string{"disk": "hdd"},
			refusal:  "pod node label selector labels conflict with its namespace whitelist"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := New(strings.NewReader(config))
			if err != nil {
				t.Fatal(err)
			}
			plugintest.Start(t, p, nil,
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "plain"}},
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "strict"}},
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "annotated", Annotations: map[string]string{annotation: "zone=b"}}})
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: "p"}, Spec: corev1.PodSpec{NodeSelector: test.selector}}
			plugintest.Run(t, p, plugintest.Create(pod), test.refusal)
			if diff := cmp.Diff(test.want, pod.Spec.NodeSelector); test.refusal == "" && diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
