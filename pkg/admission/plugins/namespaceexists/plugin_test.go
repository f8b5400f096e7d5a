package namespaceexists

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	in := func(namespace string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c"}}
	}
	tests := []struct {
		name, reason, refusal string
		request               plugintest.Request
	}{
		{name: "exists", reason: "the namespace exists", request: plugintest.Create(in("here"))},
		{name: "missing", reason: "unlike NamespaceLifecycle, for every operation",
			request: plugintest.Delete(in("gone")), refusal: `namespaces "gone" not found`},
		{name: "cluster-scoped", reason: "a cluster-scoped object has no namespace", request: plugintest.Create(&corev1.Node{})},
		{name: "namespace", reason: "the request creates the namespace itself",
			request: plugintest.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}})},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "here"}})
			plugintest.Run(t, p, test.request, test.refusal)
		})
	}
}
