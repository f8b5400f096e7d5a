package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/suite"
	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
	"github.com/miniapi-dev/miniapi/pkg/conformance/incluster"
)

// conformanceAPIServerOptions are the flags of "miniapi conformance apiserver".
type conformanceAPIServerOptions struct {
	suite.Options
	kubeconfig kubeconfig.Source
	target     trial.Options
	cleanup    bool
	role       bool
}

func newConformanceAPIServerCommand() *cobra.Command {
	o := &conformanceAPIServerOptions{}
	cmd := &cobra.Command{
		Use:   "apiserver [flags]",
		Short: "Judge an API server: its admission, and what clients rely on beside it",
		Long: `Judge an API server: its admission, and what clients rely on beside it.

The cases use namespaces of their own, and webhooks and policies that concern these alone. They remove what they
made, also after SIGINT, SIGTERM or SIGHUP. The server calls webhooks of this process, so it must reach
--webhook-address. With --webhook-image, a server in a cluster needn't reach the address.

The exit code is 0 if no case failed, 1 if a case failed, and 2 if the command line is wrong or the server can't be
reached. docs/conformance-cases.md has the promises, and docs/conformance.md the permissions that the cases
need.`,
		Example: `  # Judge a server on this machine
  miniapi conformance apiserver --kubeconfig miniapi.kubeconfig

  # Judge a server in a cluster, which can't connect to this machine
  miniapi conformance apiserver --kubeconfig ~/.kube/config --webhook-image miniapi:dev

  # Make a service account that may run the cases
  miniapi conformance apiserver --rbac | kubectl apply -f -

  # Judge its dry runs alone, and write a report for continuous integration
  miniapi conformance apiserver --only '*.dryRun*' --report junit=conformance.xml`,
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := suite.UntilInterrupted(cmd.Context())
			defer stop()
			return o.runCommand(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.AddFlags(cmd, func(ctx context.Context) []conformance.Case { return o.known(ctx) })
	o.kubeconfig.AddFlags(cmd, cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&o.target.WebhookAddress, "webhook-address", "", "`HOST:PORT` where the webhooks of the cases listen. The API server must reach it; port 0 is a free one. (default \"127.0.0.1:0\")")
	flags.StringVar(&o.target.WebhookImage, "webhook-image", "", "`IMAGE` of miniapi. With one, the cases' webhooks are called in the cluster: by a Deployment, which carries the calls to this process.")
	flags.DurationVar(&o.target.WebhookTimeout, "webhook-timeout", incluster.DefaultTimeout, "`DURATION` in which the Deployment of --webhook-image must be ready.")
	flags.StringVar(&o.target.AuditLog, "audit-log", "", "The `FILE` that the server writes audit events to, at the level RequestResponse. Cases about audit events need it.")
	flags.BoolVar(&o.target.Disposable, "disposable-server", false, "Also run cases that could harm other users of the server.")
	flags.BoolVar(&o.cleanup, "cleanup", false, "Remove what killed runs have left on the server, and run no case. It also ends runs that are going on.")
	flags.BoolVar(&o.role, "rbac", false, "Print manifests of a service account with the permissions that the selected cases need, and run no case.")
	return cmd
}

func (o *conformanceAPIServerOptions) runCommand(ctx context.Context, out, progress io.Writer) error {
	if err := o.Validate(); err != nil {
		return cli.UsageError{Err: err}
	}
	if o.role {
		return o.printRole(out)
	}
	if o.List && o.kubeconfig == (kubeconfig.Source{}) {
		cases, err := apiserver.Cases(nil)
		if err != nil {
			return err
		}
		return o.listAdapted(out, cases)
	}
	var err error
	if o.target.Config, err = o.kubeconfig.ClientConfig(); err != nil {
		return cli.UsageError{Err: err}
	}
	if o.cleanup {
		return o.removeRuns(ctx, out)
	}
	if o.List {
		return o.listServed(ctx, out)
	}
	if o.target.AuditLog != "" {
		if _, err := os.Stat(o.target.AuditLog); err != nil {
			return cli.UsageError{Err: fmt.Errorf("--audit-log %q: must be the file of the server's --audit-log-path: %w", o.target.AuditLog, err)}
		}
	}
	if o.target.WebhookImage != "" {
		fmt.Fprintf(progress, "starting the webhooks of the cases in the cluster, from the image %s\n", o.target.WebhookImage)
	}
	// An interrupt may also end the reader of the output. Then a write must fail, and not end the process: the cases still
	// have to remove their objects.
	signal.Ignore(syscall.SIGPIPE)
	server, cases, err := apiserver.Start(ctx, o.target, o.Run.Selection)
	if err != nil {
		return cli.UsageError{Err: o.kubeconfig.Explained(err)}
	}
	o.Run.Selection = apiserver.Adapted(o.Run.Selection, cases)
	title := fmt.Sprintf("API server %s, Kubernetes %d.%d", o.target.Config.Host, server.Major, server.Minor)
	return errors.Join(o.Judge(ctx, title, cases, out, progress), server.Unreached(), server.Close(ctx))
}

// removeRuns removes the objects of all runs on the server, and prints the paths of the objects. A run that is going on
// loses its objects too. The user must have the permissions that the selected cases need, because without them
// removeRuns could miss objects.
func (o *conformanceAPIServerOptions) removeRuns(ctx context.Context, out io.Writer) error {
	server, _, err := apiserver.Connect(ctx, o.target, o.Run.Selection)
	if err != nil {
		return cli.UsageError{Err: o.kubeconfig.Explained(err)}
	}
	removed, err := server.Cleanup(ctx)
	for _, path := range removed {
		fmt.Fprintln(out, path, "removed")
	}
	return err
}

// listServed lists the selected cases that apply to the running server.
func (o *conformanceAPIServerOptions) listServed(ctx context.Context, out io.Writer) error {
	server, err := trial.Connect(ctx, o.target)
	if err != nil {
		return cli.UsageError{Err: o.kubeconfig.Explained(err)}
	}
	cases, err := apiserver.Cases(server)
	if err != nil {
		return err
	}
	return o.listAdapted(out, cases)
}

// known returns the cases that apply to the running server, or all cases if no server answers.
func (o *conformanceAPIServerOptions) known(ctx context.Context) []conformance.Case {
	config, err := o.kubeconfig.ClientConfig()
	if err == nil {
		var server *trial.Server
		if server, err = trial.Connect(ctx, trial.Options{Config: config}); err == nil {
			if cases, err := apiserver.Cases(server); err == nil {
				return cases
			}
		}
	}
	cases, err := apiserver.Cases(nil)
	if err != nil {
		return nil
	}
	return cases
}

func (o *conformanceAPIServerOptions) listAdapted(out io.Writer, cases []conformance.Case) error {
	o.Run.Selection = apiserver.Adapted(o.Run.Selection, cases)
	return o.PrintCases(out, cases)
}

// printRole prints a role with the permissions that the selected cases need, and a service account that has the role.
func (o *conformanceAPIServerOptions) printRole(out io.Writer) error {
	cases, err := apiserver.Cases(nil)
	if err != nil {
		return err
	}
	selection := apiserver.Adapted(o.Run.Selection, cases)
	if err := selection.Check(cases); err != nil {
		return cli.UsageError{Err: err}
	}
	role, err := apiserver.Role(apiserver.PermissionsOf(selection.Of(cases)))
	if err != nil {
		return err
	}
	_, err = out.Write(role)
	return err
}
