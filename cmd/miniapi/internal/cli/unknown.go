package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// HelpAll is the name of the flag that prints all flags of a command. The command's --help prints only some of them.
const HelpAll = "help-all"

const (
	// maxSimilar is the greatest number of similar flags that an error suggests. If more flags are similar, the error
	// suggests none.
	maxSimilar = 4
	// maxDistance is the largest number of letters in which a similar name may differ from the misspelled name.
	maxDistance = 2
)

// FlagError turns an error of a flag into a UsageError, with suggestions for an unknown flag.
func FlagError(cmd *cobra.Command, err error) error {
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return UsageError{err}
	}
	help := cmd.CommandPath() + " --help"
	if cmd.Flags().Lookup(HelpAll) != nil {
		help = cmd.CommandPath() + " --" + HelpAll
	}
	similar := similarFlags(cmd.Flags(), unknown)
	if len(similar) == 0 || len(similar) > maxSimilar {
		return UsageError{fmt.Errorf("%w: see %s", err, help)}
	}
	return UsageError{fmt.Errorf("%w: did you mean --%s?", err, strings.Join(similar, " or --"))}
}

// KnownSubcommand refuses an argument that isn't the name of a subcommand.
func KnownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s?", args[0], strings.Join(similar, " or "))
	}
	return fmt.Errorf("unknown command %q: see %s --help", args[0], cmd.CommandPath())
}

// similarFlags returns the flags that the user may have meant by an unknown flag: flags with a similar name, or with a
// name that begins or ends with the unknown one.
func similarFlags(of *pflag.FlagSet, unknown *pflag.NotExistError) []string {
	// If a user writes -data-dir=x with one dash, pflag takes it for the flag -d, so look at the whole argument.
	name, _, _ := strings.Cut(cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName()), "=")
	// cobra can only suggest names of commands, so make a command for each flag.
	flags := &cobra.Command{SuggestionsMinimumDistance: maxDistance}
	of.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" || len(f.Name) <= maxDistance {
			return
		}
		flags.AddCommand(&cobra.Command{Use: f.Name, SuggestFor: suffixes(f.Name), Run: func(*cobra.Command, []string) {}})
	})
	return slices.Compact(flags.SuggestionsFor(name))
}

// suffixes returns a flag's name without its first word, without its first two words, and so on. Words are separated by
// dashes.
func suffixes(name string) []string {
	var all []string
	for _, rest, more := strings.Cut(name, "-"); more; _, rest, more = strings.Cut(rest, "-") {
		all = append(all, rest)
	}
	return all
}
