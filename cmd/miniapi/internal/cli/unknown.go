package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// maxSimilar is the greatest number of similar flags that an error suggests. If more flags are similar, the error
	// suggests none.
	maxSimilar = 4
	// maxDistance is the largest number of letters in which a similar name may differ from the misspelled name.
	maxDistance = 2
)

// KnownSubcommand refuses an argument that isn't the name of a subcommand.
func KnownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = maxDistance
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
