package main

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// The program tells its version, serves, calls a webhook, and stops. hack/test-release.sh runs the test with the programs of
// a release for other systems.
func TestProgram(t *testing.T) {
	t.Parallel()
	kubernetes, _, _ := strings.Cut(server.Version().GitVersion, "+")
	if version := runMiniapi(t, "version"); !strings.Contains(version, kubernetes+"+miniapi") {
		t.Errorf("want the version %s+miniapi, got %s", kubernetes, version)
	}
	p, c := serveLabelled(t)
	created, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, metav1.CreateOptions{})
	if err != nil || created.Labels["team"] != "blue" {
		t.Errorf("want the label of the webhook, got %v, error %v", created, err)
	}
	p.signal(t, os.Interrupt)
	if code, _, stderr := p.exit(t); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
