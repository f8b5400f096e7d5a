package main

import (
	"context"
	"fmt"
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

// newHostCommand returns the command that fixtures start as a child process, to run servers for tests.
func newHostCommand() *cobra.Command {
	o := host.Options{Version: server.Version().GitVersion}
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Run servers for a test process in any language, by the control protocol",
		Long: `Run servers for another process, which asks for them by the control protocol: HTTP and JSON, as
docs/control.md describes. The first line of the output has the address and the token for requests.

The command stops its servers and ends when its standard input ends, so it ends with the process
that has started it. With --lease, it ends after some time without a request instead.`,
		Example: `  # A server for a script
  miniapi host --socket ./miniapi.sock --lease 1m > hello.json &`,
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Lease < 0 {
				return cli.UsageError{Err: fmt.Errorf("--lease %s: must not be negative", o.Lease)}
			}
			line, err := containerInitLine()
			if err != nil {
				return err
			}
			o.Engine = &local.Engine{ContainerInit: line}
			// The process must remove its files before it ends. It ends when its standard input ends, because the test
			// process has ended then. So it ignores the signals that a terminal sends to all processes, and the signal
			// after a write to a closed pipe.
			signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			defer context.AfterFunc(ctx, exitLater)()
			hello := os.Stdout
			os.Stdout = os.Stderr // standard output has only the first line, so a library must not print there
			return host.Serve(ctx, &exitAfterEOF{os.Stdin}, hello, o)
		},
	}
	cmd.Flags().StringVar(&o.Socket, "socket", "", "Listen on the Unix socket at this `PATH`, and not on a free port of 127.0.0.1.")
	cmd.Flags().DurationVar(&o.Lease, "lease", 0, "End after this `DURATION` without a request, and not at the end of standard input.")
	return cmd
}

// endTimeout limits the time for which the process continues after the end of the test process, or after SIGTERM.
const endTimeout = 10 * time.Second

// exitLater ends the process after endTimeout, if it still runs.
func exitLater() { time.AfterFunc(endTimeout, func() { os.Exit(cli.ExitFailed) }) }

// exitAfterEOF reads standard input. If the process still runs endTimeout after the end of the input, exitAfterEOF ends
// the process.
type exitAfterEOF struct{ input *os.File }

// Read implements io.Reader.
func (e *exitAfterEOF) Read(p []byte) (int, error) {
	n, err := e.input.Read(p)
	if err != nil {
		exitLater()
	}
	return n, err
}
