package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

func newAssetsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "assets DIR",
		Short: "Make a folder that envtest takes for KUBEBUILDER_ASSETS",
		Long: `Make a folder with the programs that envtest looks for in KUBEBUILDER_ASSETS:
kube-apiserver and etcd, which are links to this very binary, and kubectl, a link to
the one on the PATH. Projects that are tested with envtest then run unchanged:

    eval "$(miniapi assets bin/assets)"
    go test ./...`,
		Args: cli.UsageArgs(oneFolder),
		RunE: func(cmd *cobra.Command, args []string) error {
			return makeAssets(args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}

// oneFolder requires one path as the argument. It refuses an empty path, which would mean the current folder: an unset
// variable in a script gives an empty path.
func oneFolder(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("arguments %q: %s takes one argument, the folder to make, as in %[2]s bin/assets", args, cmd.CommandPath())
	}
	return nil
}

// makeAssets fills the folder with the links kube-apiserver and etcd, and with the link kubectl if there is a kubectl
// on the PATH. It prints the shell command that sets KUBEBUILDER_ASSETS to the folder.
func makeAssets(dir string, out, errOut io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	self, err := ownBinary()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"kube-apiserver", "etcd"} {
		if err := link(self, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	name := filepath.Join(dir, "kubectl")
	if kubectl := findKubectl(dir); kubectl == "" {
		fmt.Fprintln(errOut, "There is no kubectl on the PATH, so tests that call kubectl will fail: install kubectl, and run the command again.")
		if err := removeDangling(name); err != nil {
			return err
		}
	} else if err := link(kubectl, name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "export KUBEBUILDER_ASSETS=%s\n", cli.Quoted(dir))
	return err
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
		return "", errors.New(`"go run" deletes the program when it ends, and links to it would break: build or install miniapi, and run that`)
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
