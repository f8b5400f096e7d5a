package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

func newVersionCommand() *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  miniapi version
  miniapi version -o json`,
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			version := server.Version()
			return format.Print(cmd.OutOrStdout(), version, func(out io.Writer) error {
				_, err := fmt.Fprintln(out, version.GitVersion)
				return err
			})
		},
	}
	format.AddFlag(cmd, "Print the details of the build, as json or yaml.", output.JSON, output.YAML)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}
