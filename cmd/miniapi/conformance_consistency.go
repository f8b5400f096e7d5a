package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/suite"
	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/consistency"
)

// conformanceConsistencyOptions are the flags of "miniapi conformance consistency".
type conformanceConsistencyOptions struct {
	suite.Options
	kubeconfig kubeconfig.Source
	run        consistency.Options
	servers    []string
}

func newConformanceConsistencyCommand() *cobra.Command {
	o := &conformanceConsistencyOptions{run: consistency.Options{}.Defaulted()}
	cmd := &cobra.Command{
		Use:   "consistency [flags]",
		Short: "Judge what an API server promises to concurrent clients: linearizable objects, complete watches",
		Long: `Judge what an API server promises to concurrent clients: linearizable objects, complete watches.

Clients write, read and watch objects in a namespace of their own, until the duration has passed. Then the cases check
the history of all requests, answers and events. Servers may be killed and restarted meanwhile, and connections cut: a
write without an answer may have had its effect or not. The run removes the namespace, also after SIGINT, SIGTERM or
SIGHUP.

The exit code is 0 if no case failed, 1 if a case failed, and 2 if the command line is wrong or the server can't be
reached. docs/conformance-cases.md has the cases.`,
		Example: `  # Judge a server by a minute of concurrent requests
  miniapi conformance consistency --kubeconfig miniapi.kubeconfig --duration 1m

  # Repeat what the clients of an earlier run did
  miniapi conformance consistency --kubeconfig miniapi.kubeconfig --seed 42

  # Judge two servers of the same objects, and write a report for a script
  miniapi conformance consistency --servers https://10.0.0.1:6443,https://10.0.0.2:6443 --report json=consistency.json`,
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := suite.UntilInterrupted(cmd.Context())
			defer stop()
			return o.runCommand(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.AddFlags(cmd, func(context.Context) []conformance.Case { return consistency.Cases(nil) })
	o.kubeconfig.AddFlags(cmd, cmd.Flags())
	flags := cmd.Flags()
	flags.StringSliceVar(&o.servers, "servers", nil, "`URLS` of the servers, if several serve the same objects. They accept the credentials of the kubeconfig, and have certificates of its authority. By default, the server of the kubeconfig.")
	flags.DurationVar(&o.run.Duration, "duration", o.run.Duration, "`DURATION` in which clients write.")
	flags.IntVar(&o.run.Writers, "writers", o.run.Writers, "`N` clients write at once.")
	flags.IntVar(&o.run.Readers, "readers", o.run.Readers, "`N` clients read at once.")
	flags.IntVar(&o.run.Watchers, "watchers", o.run.Watchers, "`N` clients start, end and resume watches.")
	flags.IntVar(&o.run.Others, "others", 0, "`N` further objects of each resource, which no client writes, make lists longer.")
	flags.Uint64Var(&o.run.Seed, "seed", 0, "`SEED` of what the clients do. By default, another one for each run, which is printed.")
	flags.DurationVar(&o.run.RequestTimeout, "request-timeout", o.run.RequestTimeout, "`DURATION` after which the outcome of a request without an answer is unknown.")
	flags.DurationVar(&o.run.Patience, "patience", o.run.Patience, "Longest `DURATION` from the last write until every watch has sent it.")
	return cmd
}

func (o *conformanceConsistencyOptions) runCommand(ctx context.Context, out, progress io.Writer) error {
	if err := o.Validate(); err != nil {
		return cli.UsageError{Err: err}
	}
	if o.List {
		return o.PrintCases(out, consistency.Cases(nil))
	}
	if err := o.Run.Selection.Check(consistency.Cases(nil)); err != nil {
		return cli.UsageError{Err: err}
	}
	config, err := o.kubeconfig.ClientConfig()
	if err != nil {
		return cli.UsageError{Err: err}
	}
	o.run.Configs = []*rest.Config{config}
	for i, server := range o.servers {
		another := rest.CopyConfig(config)
		another.Host = server
		o.run.Configs = append(o.run.Configs[:i], another)
	}
	if err := o.run.Validate(); err != nil {
		return cli.UsageError{Err: err}
	}
	if o.run.Seed == 0 {
		o.run.Seed = rand.Uint64()
	}
	// An interrupt may also end the reader of the output. Then a write must fail, and not end the process: the namespace
	// still has to be removed.
	signal.Ignore(syscall.SIGPIPE)
	fmt.Fprintf(progress, "%d writers, %d readers and %d watchers work for %v; --seed %d repeats what they do\n", o.run.Writers, o.run.Readers, o.run.Watchers, o.run.Duration, o.run.Seed)
	history, err := consistency.Record(ctx, o.run)
	switch {
	case ctx.Err() != nil:
		return err
	case history == nil:
		return cli.UsageError{Err: o.kubeconfig.Explained(err)}
	}
	o.Coverage = history.Coverage()
	return errors.Join(o.Judge(ctx, fmt.Sprintf("consistency of API server %s", config.Host), consistency.Cases(history), out, progress), err)
}
