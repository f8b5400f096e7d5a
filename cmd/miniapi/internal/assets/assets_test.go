package assets

import (
	"os"
	"path/filepath"
	"testing"
)

// findKubectl finds the kubectl in PATH, and not a link that "miniapi assets" has made.
func TestFindKubectl(t *testing.T) {
	assets, tools := t.TempDir(), t.TempDir()
	t.Setenv("PATH", assets+string(filepath.ListSeparator)+tools)
	if got := findKubectl(assets); got != "" {
		t.Errorf("want none, got %s", got)
	}
	kubectl := filepath.Join(tools, "kubectl")
	if err := os.WriteFile(kubectl, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := findKubectl(assets); got != kubectl {
			t.Errorf("want %s, got %s", kubectl, got)
		}
		if err := link(kubectl, filepath.Join(assets, "kubectl")); err != nil {
			t.Fatal(err)
		}
	}
}
