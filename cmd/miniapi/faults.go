package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/faultclient"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
)

// faultsOptions are the flags of "miniapi faults".
type faultsOptions struct {
	kubeconfig kubeconfig.Source
	files      []string
	all        bool
	output     output.Format
}

func newFaultsCommand() *cobra.Command {
	o := &faultsOptions{}
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "List, add and remove the faults that a running server injects",
		Long: `List the faults that a running server injects into its answers and its calls of webhooks.
The subcommands add and remove faults; docs/faults.md has all of them.`,
		Args: cli.UsageArgs(cli.KnownSubcommand),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.list(cmd.Context(), cmd.OutOrStdout()) },
	}
	o.kubeconfig.AddFlags(cmd, cmd.PersistentFlags())
	o.output.AddFlag(cmd, "Format of the list: json or yaml.", output.JSON, output.YAML)
	add := &cobra.Command{
		Use:   "add [FAULT...] [-f FILE]",
		Short: "Add faults",
		Example: `  # The third update of a pod fails with a conflict
  miniapi faults add verbs=update,resources=pods,requests=3,conflict

  # Every tenth call of a webhook is slow
  miniapi faults add webhooks=pods.example.com,share=10%,latency=1s..3s`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.add(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	add.Flags().StringArrayVarP(&o.files, "filename", "f", nil, "Add the faults of this `FILE`, in YAML. May be repeated.")
	remove := &cobra.Command{
		Use:   "delete NAME...",
		Short: "Remove faults",
		RunE:  func(cmd *cobra.Command, args []string) error { return o.remove(cmd.Context(), args) },
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return o.names(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
		},
	}
	remove.Flags().BoolVar(&o.all, "all", false, "Remove all faults.")
	cmd.AddCommand(add, remove)
	return cmd
}

// client returns a client of the server that the kubeconfig names.
func (o *faultsOptions) client() (*faultclient.Client, error) {
	server, err := o.kubeconfig.Server()
	if err != nil {
		return nil, err
	}
	return faultclient.New(server), nil
}

func (o *faultsOptions) list(ctx context.Context, out io.Writer) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	states, err := client.List(ctx)
	if err != nil {
		return err
	}
	return o.output.Print(out, faults.List{Faults: states}, func(out io.Writer) error { return printFaults(out, states) })
}

// names returns the names of the server's faults, or nil if they can't be read.
func (o *faultsOptions) names(ctx context.Context) []string {
	client, err := o.client()
	if err != nil {
		return nil
	}
	states, err := client.List(ctx)
	if err != nil {
		return nil
	}
	names := make([]string, len(states))
	for i := range states {
		names[i] = states[i].Name
	}
	return names
}

// printFaults prints faults as a table.
func printFaults(out io.Writer, states []faults.State) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tSOURCE\tMATCHED\tINJECTED\tFAULT")
	for _, state := range states {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", state.Name, state.Source, state.Matched, state.Injected, state.Text())
	}
	return table.Flush()
}

func (o *faultsOptions) add(ctx context.Context, args []string, out, errOut io.Writer) error {
	added, err := o.faults(args)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	states, err := client.Add(ctx, added)
	if err != nil {
		return err
	}
	for _, state := range states {
		fmt.Fprintf(out, "%s added\n", state.Name)
	}
	for _, unserved := range client.Unserved(ctx, states) {
		fmt.Fprintf(errOut, "Warning: fault %s: the server has no resource %q, so the fault has no effect until the resource is served\n", unserved.Fault, unserved.Resource)
	}
	return nil
}

// faults returns the faults that the arguments and the files of -f describe.
func (o *faultsOptions) faults(args []string) ([]faults.Fault, error) {
	if len(args)+len(o.files) == 0 {
		return nil, errors.New("name a fault, as in verbs=update,resources=pods,conflict, or a file by -f")
	}
	var all []faults.Fault
	for _, text := range args {
		f, err := faults.ParseText(text)
		if err != nil {
			return nil, fmt.Errorf("fault %q: %w", text, err)
		}
		all = append(all, f)
	}
	for _, file := range o.files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("-f %s: %w", file, err)
		}
		read, err := faults.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("-f %s: %w", file, err)
		}
		all = append(all, read...)
	}
	return all, nil
}

func (o *faultsOptions) remove(ctx context.Context, names []string) error {
	if o.all == (len(names) > 0) {
		return cli.UsageError{Err: fmt.Errorf("arguments %q and --all=%t: give either the names of faults, or --all", names, o.all)}
	}
	if o.all {
		names = []string{""}
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := client.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
