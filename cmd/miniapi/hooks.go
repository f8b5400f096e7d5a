package main

import (
	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

func newHooksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List and call runtime hooks, as Cluster API does",
		Long: `List and call runtime hooks: the extensions of the server that a kubeconfig names, which is
"miniapi serve --runtime-hooks" or a Cluster API management cluster.`,
		Args: cli.UsageArgs(cli.KnownSubcommand),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHooksListCommand(), newHooksCallCommand(), newHooksOpenAPICommand())
	return cmd
}
