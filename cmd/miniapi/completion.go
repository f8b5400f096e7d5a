package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addCompletion adds cobra's command that prints the scripts by which shells complete command lines.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return // cobra adds none to a program without subcommands
	}
	completion.Args = usageArgs(knownSubcommand)
	completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, shell := range completion.Commands() {
		shell.Args = usageArgs(cobra.NoArgs)
	}
}

// completeFiles makes shells complete the values of flags that are paths of certain kinds. All others are completed
// with any file.
func completeFiles(flags *pflag.FlagSet) {
	for name, kind := range map[string]struct {
		annotation string
		values     []string
	}{
		"apply":    {cobra.BashCompFilenameExt, []string{"yaml", "yml", "json"}},
		"data-dir": {cobra.BashCompSubdirsInDir, nil},
		"cert-dir": {cobra.BashCompSubdirsInDir, nil},
	} {
		if flags.Lookup(name) != nil {
			// The flag is there: the error can't occur.
			_ = flags.SetAnnotation(name, kind.annotation, kind.values)
		}
	}
}
