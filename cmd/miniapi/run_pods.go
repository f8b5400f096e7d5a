package main

import (
	"fmt"
	"io"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/group"
)

// containerInit is the name of the hidden command by which the processes of pods begin.
const containerInit = "container-init"

// newContainerInitCommand returns the command that shows a process of a pod its volumes, and then becomes the process.
func newContainerInitCommand() *cobra.Command {
	return &cobra.Command{
		Use:                containerInit,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return group.Init(args) },
	}
}

// allowPods lets containers run as processes. It warns if other machines reach the server.
func (o *serveOptions) allowPods(errOut io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("--run-pods: the path of this program: %w", err)
	}
	o.workloadOptions.Runtime = processes.New(processes.Options{Init: []string{self, containerInit}})
	if address := o.Server.Serving.BindAddress; !address.IsLoopback() {
		name := "this user"
		if own, err := user.Current(); err == nil {
			name = "the user " + own.Username
		}
		fmt.Fprintf(errOut, "Warning: --run-pods: clients that reach %s and may create pods run commands on this machine as %s\n", address, name)
	}
	return nil
}
