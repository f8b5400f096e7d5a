package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/pkg/inprocess/local"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/host"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// newHostCommand returns the command by which package miniapitest runs servers. It is hidden: it talks to a test
// process, and to no person.
func newHostCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "host",
		Short:  "Run the servers of a test process, which package miniapitest starts",
		Hidden: true,
		Args:   cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The end of standard input ends the process. A signal that is sent to all processes of a terminal doesn't,
			// and neither does a write to a test process that is gone: files are to be removed first.
			signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			replies := os.Stdout
			os.Stdout = os.Stderr // a library that prints must not disturb the replies
			return host.Serve(ctx, &ending{os.Stdin}, replies, &local.Engine{}, server.Version().GitVersion)
		},
	}
}

// endTimeout bounds the end of a process whose test process is gone.
const endTimeout = 10 * time.Second

// ending is an input whose end ends the process, at the latest after endTimeout.
type ending struct{ *os.File }

// Read implements io.Reader.
func (e *ending) Read(p []byte) (int, error) {
	n, err := e.File.Read(p)
	if err != nil {
		time.AfterFunc(endTimeout, func() { os.Exit(cli.ExitFailed) })
	}
	return n, err
}
