package main

import (
	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

func newConformanceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Judge an API server or an admission webhook by the promises of Kubernetes",
		Args:  cli.UsageArgs(cli.KnownSubcommand),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConformanceAPIServerCommand(), newConformanceConsistencyCommand(), newConformanceWebhookCommand(), newConformanceRelayCommand())
	return cmd
}
