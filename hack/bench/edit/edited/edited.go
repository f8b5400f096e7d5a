// Package edited has the test that the benchmark edits. The test works with a client of any server: the packages beside
// this one run it with package miniapitest, with envtest and with client-go's fake clientset.
package edited

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Test creates a config map with some data, and reads the data.
func Test(t *testing.T, client kubernetes.Interface, data string) {
	t.Helper()
	maps := client.CoreV1().ConfigMaps("default")
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"data": data}}
	if _, err := maps.Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := maps.Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Data["data"] != data {
		t.Errorf("want %q, got %q", data, got.Data)
	}
}
