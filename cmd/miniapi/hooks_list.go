package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/hooks"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
)

func newHooksListCommand() *cobra.Command {
	var source kubeconfig.Source
	var format output.Format
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
				return source.Explained(err)
			}
			return format.Print(cmd.OutOrStdout(), hooks.Handlers(configs), func(out io.Writer) error { return hooks.PrintHandlers(out, configs) })
		},
	}
	source.AddFlags(cmd, cmd.Flags())
	format.AddFlag(cmd, "Format of the list: json or yaml.", output.JSON, output.YAML)
	return cmd
}
