package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/daemon"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
)

func newListCommand() *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the daemons, which \"miniapi serve --daemon\" has started",
		Args:  cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			daemons, err := daemon.All(cmd.Context())
			if err != nil {
				return err
			}
			return format.Print(cmd.OutOrStdout(), daemons, func(out io.Writer) error { return printDaemons(out, daemons) })
		},
	}
	format.AddFlag(cmd, "Format of the list: json or yaml.", output.JSON, output.YAML)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

func printDaemons(out io.Writer, daemons []*daemon.Daemon) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tAGE\tKUBECONFIG")
	for _, d := range daemons {
		fmt.Fprintf(table, "%s\t%s\t%s\n", d.Name, duration.HumanDuration(time.Since(d.Since)), d.Kubeconfig)
	}
	return table.Flush()
}

func newStopCommand() *cobra.Command {
	return newDaemonCommand("stop NAME", "Stop a daemon, and remove its files", func(ctx context.Context, d *daemon.Daemon, _ []string, _ io.Writer) error {
		return d.Stop(ctx)
	})
}

func newResetCommand() *cobra.Command {
	return newDaemonCommand("reset NAME", "Bring back the objects that a daemon had when it was ready", func(ctx context.Context, d *daemon.Daemon, _ []string, _ io.Writer) error {
		return d.Reset(ctx)
	})
}

func newSnapshotCommand() *cobra.Command {
	return newDaemonCommand("snapshot NAME", "Copy all objects of a daemon, and print the number of the copy", func(ctx context.Context, d *daemon.Daemon, _ []string, out io.Writer) error {
		snapshot, err := d.Snapshot(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, snapshot)
		return err
	})
}

func newRestoreCommand() *cobra.Command {
	return newDaemonCommand("restore NAME SNAPSHOT", "Bring back the objects of a snapshot of a daemon", func(ctx context.Context, d *daemon.Daemon, args []string, _ io.Writer) error {
		return d.Restore(ctx, args[0])
	})
}

// newDaemonCommand returns a command whose first argument is the name of a daemon. The function do gets the daemon and
// the other arguments.
func newDaemonCommand(use, short string, do func(ctx context.Context, d *daemon.Daemon, args []string, out io.Writer) error) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cli.UsageArgs(cobra.ExactArgs(len(strings.Fields(use)) - 1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := daemon.Find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return do(cmd.Context(), d, args[1:], cmd.OutOrStdout())
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if daemons, err := daemon.All(cmd.Context()); err == nil && len(args) == 0 {
				for _, d := range daemons {
					names = append(names, d.Name)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}
