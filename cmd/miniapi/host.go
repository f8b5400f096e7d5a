package main

import (
	"context"
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

// newHostCommand returns the command that package miniapitest starts as a child process, to run servers for tests. The
// command is hidden, because people don't use it.
func newHostCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "host",
		Short:  "Run the servers of a test process, which package miniapitest starts",
		Hidden: true,
		Args:   cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The process must remove its files before it ends. It ends when its standard input ends, because the test
			// process has ended then. So it ignores the signals that a terminal sends to all processes, and the signal
			// after a write to a closed pipe.
			signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			defer context.AfterFunc(ctx, exitLater)()
			replies := os.Stdout
			os.Stdout = os.Stderr // standard output has the replies to the test process, so a library must not print there
			return host.Serve(ctx, &exitAfterEOF{os.Stdin}, replies, &local.Engine{}, server.Version().GitVersion)
		},
	}
}

// endTimeout limits the time for which the process continues after the end of the test process, or after SIGTERM.
const endTimeout = 10 * time.Second

// exitLater ends the process after endTimeout, if it still runs.
func exitLater() { time.AfterFunc(endTimeout, func() { os.Exit(cli.ExitFailed) }) }

// exitAfterEOF reads standard input. If the process still runs endTimeout after the end of the input, exitAfterEOF ends
// the process.
type exitAfterEOF struct{ *os.File }

// Read implements io.Reader.
func (e *exitAfterEOF) Read(p []byte) (int, error) {
	n, err := e.File.Read(p)
	if err != nil {
		exitLater()
	}
	return n, err
}
