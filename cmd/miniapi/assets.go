package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/assets"
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

// makeAssets fills the folder, and prints the shell command that sets KUBEBUILDER_ASSETS to the folder.
func makeAssets(dir string, out, errOut io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	kubectl, err := assets.Make(dir)
	if err != nil {
		return err
	}
	if !kubectl {
		fmt.Fprintln(errOut, "There is no kubectl on the PATH, so tests that call kubectl will fail: install kubectl, and run the command again.")
	}
	_, err = fmt.Fprintf(out, "export KUBEBUILDER_ASSETS=%s\n", cli.Quoted(dir))
	return err
}
