package kubeconfig

import (
	"path/filepath"
	"strings"
	"testing"
)

// If neither the flag nor the variable names a kubeconfig with a cluster, the error has both names.
func TestNoKubeconfig(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("KUBECONFIG", missing)
	_, err := (&Source{}).ClientConfig()
	if err == nil || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), "--kubeconfig or $KUBECONFIG must name") {
		t.Errorf("want an error with the file and the ways to name another, got %v", err)
	}
}
