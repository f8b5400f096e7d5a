package main

import (
	"net/http"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Invalid requests cause no errors in the server's log.
func TestClientErrorsAreNotLogged(t *testing.T) {
	t.Parallel()
	p, config := serve(t)
	maps := client(t, config).CoreV1().ConfigMaps("default")
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, patch := range map[types.PatchType]string{
		types.StrategicMergePatchType: `{"$patch":"odd"}`,
		types.MergePatchType:          `{"metadata":{"resourceVersion":"odd"}}`,
		types.JSONPatchType:           `[{"op":"remove","path":"/data/missing"}]`,
		types.ApplyYAMLPatchType:      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"odd":1}`,
	} {
		if _, err := maps.Patch(t.Context(), "a", name, []byte(patch), metav1.PatchOptions{FieldManager: manager(name)}); err == nil {
			t.Errorf("%s %s: want an error", name, patch)
		}
	}
	plain, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"labelSelector=a==b==c", "limit=odd", "watch=1&resourceVersion=odd", "timeout=odd", "timeout=1us"} {
		response, err := plain.Get(config.Host + "/api/v1/namespaces/default/configmaps?" + query)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode < http.StatusBadRequest {
			t.Errorf("%s: want an error, got %s", query, response.Status)
		}
	}
	p.signal(t, syscall.SIGTERM)
	if _, _, stderr := p.exit(t); stderr != "" {
		t.Errorf("want nothing in the log, got:\n%s", stderr)
	}
}

// manager returns a field manager for an apply patch, which must have one, and "" for other patches.
func manager(kind types.PatchType) string {
	if kind == types.ApplyYAMLPatchType {
		return "test"
	}
	return ""
}
