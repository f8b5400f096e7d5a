package main

import (
	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// addCompletion adds cobra's completion command, which prints a script for a shell.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return // cobra adds the command only to a program with subcommands
	}
	completion.Args = cli.UsageArgs(cli.KnownSubcommand)
	completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, shell := range completion.Commands() {
		shell.Args = cli.UsageArgs(cobra.NoArgs)
	}
}
