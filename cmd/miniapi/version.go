package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), server.Version().GitVersion)
			return err
		},
	}
}
