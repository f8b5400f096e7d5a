package integration_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// No metric has the name of a namespace, a user, a group or an object as a label: otherwise /metrics would grow without
// bound.
func TestMetricsHaveNoNames(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	const unique = "named-in-no-metric"
	must(srv.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unique}}, metav1.CreateOptions{}))(t)
	config := rest.CopyConfig(srv.Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: unique, Groups: []string{unique}}
	if _, err := must(kubernetes.NewForConfig(config))(t).CoreV1().ConfigMaps(unique).List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("want the list to be forbidden to a user without permissions")
	}
	configMaps := srv.Client().CoreV1().ConfigMaps(unique)
	must(configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: unique}}, metav1.CreateOptions{}))(t)
	ok(t, configMaps.Delete(t.Context(), unique, metav1.DeleteOptions{}))
	ok(t, srv.Client().CoreV1().Namespaces().Delete(t.Context(), unique, metav1.DeleteOptions{}))
	metrics := must(srv.Client().Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context()))(t)
	for line := range strings.Lines(string(metrics)) {
		if strings.Contains(line, unique) {
			t.Errorf("a metric has a name: %s", line)
		}
	}
}
