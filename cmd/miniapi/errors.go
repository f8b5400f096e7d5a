package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is an error in how the program was called: it exits with 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// report prints an error on one line and returns the exit code.
func report(err error, to io.Writer) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(to, "Error:", oneLine(err))
	if errors.As(err, &usageError{}) {
		return exitUsage
	}
	return exitFailed
}

// maxSimilar is how many flags an error names that may have been meant.
const maxSimilar = 4

// flagError makes what is wrong with a flag a usageError.
func flagError(cmd *cobra.Command, err error) error {
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return usageError{err}
	}
	help := cmd.CommandPath() + " --help"
	if cmd.Flags().Lookup(helpAll) != nil {
		help += "-all"
	}
	similar := similarFlags(cmd.Flags(), unknown)
	if len(similar) == 0 || len(similar) > maxSimilar {
		return usageError{fmt.Errorf("%w: see %s", err, help)}
	}
	return usageError{fmt.Errorf("%w: did you mean --%s?", err, strings.Join(similar, " or --"))}
}

// usageArgs makes what a check of arguments finds a usageError.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// flagsAlone lets no arguments pass but empty ones, as kube-apiserver does: scripts leave them where a flag is
// optional. What is most often taken for one is the value of a boolean flag.
func flagsAlone(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if arg != "" {
			return fmt.Errorf("argument %q: %s takes flags alone, and the values of boolean ones after =, as in --allow-privileged=false", arg, cmd.CommandPath())
		}
	}
	return nil
}

// knownSubcommand finds fault with an argument of the root command: it would have to
// be a subcommand.
func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s?", args[0], strings.Join(similar, " or "))
	}
	return fmt.Errorf("unknown command %q: see %s --help", args[0], cmd.CommandPath())
}

// oneLine is the error as one line, as scripts and people want it.
func oneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "; ")
}
