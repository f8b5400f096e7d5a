// Package suite_test is an example of tests that share a server.
package suite_test

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// srv is the server of all tests. TestMain starts it before the first test.
var srv *miniapitest.Server

func TestMain(m *testing.M) { os.Exit(miniapitest.Main(m, &srv)) }

// reset removes the objects of earlier tests from the server. Tests that call reset can't run in parallel.
func reset(t *testing.T) *miniapitest.Server {
	t.Helper()
	if err := srv.Reset(); err != nil {
		t.Fatal(err)
	}
	return srv
}

func TestOne(t *testing.T) { createSettings(t) }

func TestTwo(t *testing.T) { createSettings(t) }

// createSettings creates a config map with a fixed name. Without reset, the create of the second test
// would fail.
func createSettings(t *testing.T) {
	t.Helper()
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}
	if _, err := reset(t).Client().CoreV1().ConfigMaps("default").Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}
