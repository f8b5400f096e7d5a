package filewatch

import (
	"os"
	"path/filepath"
	"testing"
)

// Next returns the changed files, and Concerns tells to which paths they belong.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	glob, missing := filepath.Join(dir, "a", "*.yaml"), filepath.Join(dir, "missing.yaml")
	if err := w.Add(dir, glob, missing); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, reason, path string
		concerned          []string
		not                []string
	}{
		{"in a subfolder", "folders are watched with their subfolders", filepath.Join(below, "c.yaml"), []string{dir, below, glob}, []string{missing}},
		{"new file", "a file that doesn't exist yet is reported when it is written", missing, []string{dir, missing}, []string{below, glob}},
	} {
		t.Run(test.name, func(t *testing.T) { //nolint:paralleltest // one watcher has the changes of all cases
			if err := os.WriteFile(test.path, []byte("a"), 0o600); err != nil {
				t.Fatal(err)
			}
			changed, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range test.concerned {
				if !Concerns(path, changed) {
					t.Errorf("%s: want %s concerned by %q", test.reason, path, changed)
				}
			}
			for _, path := range test.not {
				if Concerns(path, changed) {
					t.Errorf("%s: want %s not concerned by %q", test.reason, path, changed)
				}
			}
		})
	}
}
