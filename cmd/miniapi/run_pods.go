package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/group"
	"github.com/miniapi-dev/miniapi/pkg/workloads"
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

// containerInitLine returns the command line of containerInit.
func containerInitLine() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the path of this program, by which processes of pods begin: %w", err)
	}
	return []string{self, containerInit}, nil
}

// allowPods lets containers run as processes. It warns if other machines reach the server.
func (o *serveOptions) allowPods(errOut io.Writer) error {
	line, err := containerInitLine()
	if err != nil {
		return err
	}
	o.workloadOptions.Runtime = processes.New(processes.Options{Init: line})
	if warning := workloads.Warning(o.Server.Serving.BindAddress); warning != "" {
		fmt.Fprintln(errOut, "Warning:", warning)
	}
	return nil
}
