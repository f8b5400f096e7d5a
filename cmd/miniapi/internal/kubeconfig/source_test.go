package kubeconfig

import (
	"path/filepath"
	"strings"
	"testing"
)

// If no kubeconfig with a cluster is found, the error names the file, the flag --kubeconfig and the
// variable KUBECONFIG.
func TestNoKubeconfig(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("KUBECONFIG", missing)
	_, err := (&Source{}).ClientConfig()
	if err == nil || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), "--kubeconfig or $KUBECONFIG must name") {
		t.Errorf("want an error with the file and the ways to name another, got %v", err)
	}
}
