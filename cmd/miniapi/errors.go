package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// usageError is an error in how the program was called: it exits with 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func flagError(_ *cobra.Command, err error) error { return usageError{err} }

func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// oneLine is the error as one line, as scripts and people want it.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
