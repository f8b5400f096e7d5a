package main

import (
	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/hooks"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
)

func newHooksListCommand() *cobra.Command {
	var source kubeconfig.Source
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the handlers of extensions, in the order in which they are called",
		Example: `  miniapi hooks list
  miniapi hooks list --kubeconfig management.kubeconfig`,
		Args: cli.UsageArgs(cli.FlagsAlone),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := source.ClientConfig()
			if err != nil {
				return err
			}
			configs, err := hooks.Configs(cmd.Context(), config)
			if err != nil {
				return err
			}
			return hooks.PrintHandlers(cmd.OutOrStdout(), configs)
		},
	}
	source.AddFlag(cmd.Flags())
	return cmd
}
