package namespaceautoprovision

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	in := func(namespace string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c"}}
	}
	dryRun := plugintest.Create(in("new"))
	dryRun.DryRun = true
	tests := []struct {
		name, reason string
		request      plugintest.Request
		want         bool
	}{
		{name: "missing", reason: "the plugin creates the missing namespace", request: plugintest.Create(in("new")), want: true},
		{name: "dry run", reason: "nothing is written", request: dryRun},
		{name: "update", reason: "an existing object is in a namespace", request: plugintest.Update(in("new"), in("new"))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil)
			plugintest.Run(t, p, test.request, "")
			_, err := p.Client.CoreV1().Namespaces().Get(t.Context(), "new", metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
			if got := err == nil; got != test.want {
				t.Errorf("%s: the namespace exists: %t, want %t", test.reason, got, test.want)
			}
		})
	}
}
