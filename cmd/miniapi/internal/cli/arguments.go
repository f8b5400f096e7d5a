package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// UsageArgs wraps a check of arguments: its error becomes a UsageError.
func UsageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return UsageError{err}
		}
		return nil
	}
}

// FlagsAlone refuses arguments, except for empty arguments. As in kube-apiserver, empty arguments are allowed, because
// scripts leave them in place of an optional flag. The error explains the most frequent mistake: the value of a boolean
// flag as a separate argument.
func FlagsAlone(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if arg != "" {
			return fmt.Errorf("argument %q: %s takes only flags; give the value of a boolean flag after =, as in --allow-privileged=false", arg, cmd.CommandPath())
		}
	}
	return nil
}
