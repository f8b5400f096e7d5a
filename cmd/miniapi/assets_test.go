package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// "miniapi assets" makes links in a folder, and can be run again for the same folder. The command fails if the folder
// has a file in place of a link.
func TestAssets(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "my assets")
	for range 2 {
		code, stdout, stderr := start(t, "miniapi", "assets", dir).exit(t)
		if want := "export KUBEBUILDER_ASSETS='" + dir + "'"; code != 0 || stdout != want {
			t.Fatalf("want %q, got exit code %d, %q and on stderr %q", want, code, stdout, stderr)
		}
		for _, name := range []string{"kube-apiserver", "etcd"} {
			if target, err := filepath.EvalSymlinks(filepath.Join(dir, name)); err != nil || target != self {
				t.Errorf("want %s to be a link to %s, got %s, %v", name, self, target, err)
			}
		}
	}

	taken := filepath.Dir(file(t, "etcd", "precious"))
	code, _, stderr := start(t, "miniapi", "assets", taken).exit(t)
	if code != cli.ExitFailed || !strings.Contains(stderr, "etcd exists and isn't a link") {
		t.Errorf("want an error that names the file, got exit code %d and %q", code, stderr)
	}
	if content, err := os.ReadFile(filepath.Join(taken, "etcd")); err != nil || string(content) != "precious" {
		t.Errorf("want the file as it was, got %q, %v", content, err)
	}
}

// If there is no kubectl on the PATH, "miniapi assets" prints a warning. The command removes a link kubectl whose
// target is missing, and keeps a link that works, or a file.
func TestAssetsWithoutKubectl(t *testing.T) {
	tools := t.TempDir()
	t.Setenv("PATH", tools)
	kept := file(t, "kubectl", "not on the PATH")
	for _, test := range []struct {
		name   string
		make   func(kubectl string) error
		want   bool // whether the file exists afterwards
		reason string
	}{
		{"nothing", func(string) error { return nil }, false, "there is none to link to"},
		{"dangling link", func(kubectl string) error { return os.Symlink(filepath.Join(tools, "gone"), kubectl) },
			false, "what it has led to is gone"},
		{"link", func(kubectl string) error { return os.Symlink(kept, kubectl) }, true, "the link works"},
		{"file", func(kubectl string) error { return os.WriteFile(kubectl, nil, 0o700) }, true, "the file isn't miniapi's"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			kubectl := filepath.Join(dir, "kubectl")
			if err := test.make(kubectl); err != nil {
				t.Fatal(err)
			}
			code, _, stderr := start(t, "miniapi", "assets", dir).exit(t)
			if code != 0 || !strings.Contains(stderr, "no kubectl on the PATH") {
				t.Errorf("want a warning, got exit code %d and %q", code, stderr)
			}
			if _, err := os.Lstat(kubectl); (err == nil) != test.want {
				t.Errorf("kubectl is there: %t, want %t: %s", err == nil, test.want, test.reason)
			}
		})
	}
}
