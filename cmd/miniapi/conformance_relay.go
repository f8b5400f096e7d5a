package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/pkg/conformance/relay"
)

// conformanceRelayOptions are the flags of "miniapi conformance relay".
type conformanceRelayOptions struct {
	host          string
	port, control uint16
}

func newConformanceRelayCommand() *cobra.Command {
	o := &conformanceRelayOptions{}
	cmd := &cobra.Command{
		Use:   "relay [flags]",
		Short: "Carry calls of webhooks out of a cluster, for \"miniapi conformance apiserver --webhook-image\"",
		Long: `Carry calls of webhooks out of a cluster, for "miniapi conformance apiserver --webhook-image".

The Deployment of a run has this command. The relay accepts the connections of the API server, and passes them on, unread,
over the link that the run has opened to the control port. The variable ` + relay.TokenVariable + ` has the token of the
run.`,
		Args: cli.UsageArgs(cli.FlagsAlone),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return cli.UsageError{Err: err}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			r, err := relay.Start(ctx, relay.Options{
				Address: o.address(o.port), ControlAddress: o.address(o.control), Token: os.Getenv(relay.TokenVariable),
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "carrying connections from %s, with links at %s\n", r.Address(), r.ControlAddress())
			<-ctx.Done()
			return r.Close()
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.host, "bind-address", "127.0.0.1", "`ADDRESS` to listen on.")
	flags.Uint16Var(&o.port, "port", 8443, "`PORT` of the connections that the relay carries.")
	flags.Uint16Var(&o.control, "control-port", 9443, "`PORT` of the link of a run.")
	return cmd
}

// validate returns the errors in the flags and in the environment variable with the token, joined.
func (o *conformanceRelayOptions) validate() error {
	var errs []error
	if net.ParseIP(o.host) == nil {
		errs = append(errs, fmt.Errorf("--bind-address %q: must be an IP address", o.host))
	}
	if o.port == o.control && o.port != 0 {
		errs = append(errs, fmt.Errorf("--port %d and --control-port %d: must differ", o.port, o.control))
	}
	if os.Getenv(relay.TokenVariable) == "" {
		errs = append(errs, errors.New("the environment variable "+relay.TokenVariable+" must be set to the token of the run"))
	}
	return errors.Join(errs...)
}

func (o *conformanceRelayOptions) address(port uint16) string {
	return net.JoinHostPort(o.host, strconv.Itoa(int(port)))
}
