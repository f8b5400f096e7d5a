package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
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

// When a definition is deleted, the metrics of its resource are removed, also those of a watch that ends with the
// definition. Otherwise /metrics would grow with each definition that a test suite or a CI job makes.
func TestMetricsOfDeletedDefinition(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	const plural = "passers"
	define(t, srv, plural, "Passer", "v1", "v2")
	passers := resources(srv, "example.com/v1", plural)
	must(passers.Create(t.Context(), object("example.com/v1", "Passer", "a", nil), metav1.CreateOptions{}))(t)
	must(passers.Get(t.Context(), "a", metav1.GetOptions{}))(t)
	must(passers.List(t.Context(), metav1.ListOptions{}))(t)
	watched := must(passers.Watch(t.Context(), metav1.ListOptions{}))(t)
	lines := func(ctx context.Context) (found []string) {
		metrics := must(srv.Client().Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx))(t)
		for line := range strings.Lines(string(metrics)) {
			if strings.Contains(line, plural) {
				found = append(found, line)
			}
		}
		return found
	}
	if len(lines(t.Context())) == 0 {
		t.Fatal("no metric is about the custom resource, so the test finds nothing")
	}
	definitions := must(apiextensions.NewForConfig(srv.Config()))(t).CustomResourceDefinitions()
	ok(t, definitions.Delete(t.Context(), plural+".example.com", metav1.DeleteOptions{}))
	for range watched.ResultChan() { // until the watch ends
	}
	eventually(t, func(ctx context.Context) error {
		if left := lines(ctx); len(left) > 0 {
			return fmt.Errorf("%d lines of /metrics are left, such as %s", len(left), left[0])
		}
		return nil
	})
}
