// Package assets makes the folder of programs that envtest looks for in KUBEBUILDER_ASSETS. [Make] is the way in. Don't
// use the package in a test: package miniapitest runs servers without the programs of envtest.
package assets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Make fills the folder dir, which must be an absolute path, with the links kube-apiserver and etcd. If a kubectl is on
// the PATH, Make also makes the link kubectl, and returns true. Otherwise, Make removes a link kubectl whose target is
// missing, and returns false.
func Make(dir string) (kubectl bool, err error) {
	self, err := ownBinary()
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	for _, name := range []string{"kube-apiserver", "etcd"} {
		if err := link(self, filepath.Join(dir, name)); err != nil {
			return false, err
		}
	}
	name := filepath.Join(dir, "kubectl")
	target := findKubectl(dir)
	if target == "" {
		return false, removeDangling(name)
	}
	return true, link(target, name)
}

// ownBinary returns the path of this program. It returns an error for a program that "go run" has built: "go run"
// deletes the program's file when the program ends, so links to the file would break.
func ownBinary() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the path of the running miniapi program, to which the links point: %w", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", fmt.Errorf("finding the path of the running miniapi program, to which the links point: %w", err)
	}
	if folder := filepath.Dir(self); filepath.Base(folder) == "exe" && strings.Contains(folder, "go-build") {
		return "", fmt.Errorf(`"go run" has built %s, and deletes the program at its end, so links to the program would break: build or install miniapi, and run the installed program`, self)
	}
	return self, nil
}

// findKubectl returns the file of the first kubectl in the folders of PATH, with symbolic links resolved, or "". It
// ignores a file in the folder dir.
func findKubectl(dir string) string {
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		found, err := exec.LookPath(filepath.Join(folder, "kubectl"))
		if err != nil {
			continue
		}
		if found, err = filepath.EvalSymlinks(found); err != nil {
			continue
		}
		if found, err = filepath.Abs(found); err == nil && filepath.Dir(found) != dir {
			return found
		}
	}
	return ""
}

// link makes a symbolic link, and replaces an existing link. It returns an error for an existing file, which a user
// must have put there.
func link(target, name string) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink == 0:
		return fmt.Errorf("%s exists and isn't a link: choose another folder, or remove the file", name)
	default:
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return os.Symlink(target, name)
}

// removeDangling removes a link whose target is missing. If the link stayed, the error of envtest would name the target
// in place of kubectl.
func removeDangling(name string) error {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Remove(name)
}
