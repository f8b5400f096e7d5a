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

// HelpAll is the flag that prints the flags that --help leaves out.
const HelpAll = "help-all"

const (
	// maxSimilar is the greatest number of suggestions in an error.
	maxSimilar = 4
	// maxDistance is the greatest number of letters by which a misspelled name may differ.
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

// similarFlags returns the flags that an unknown flag may stand for: flags that are spelled alike, begin with the
// unknown name or end in it.
func similarFlags(of *pflag.FlagSet, unknown *pflag.NotExistError) []string {
	// pflag reads -data-dir=x, with one dash, as the flag -d and its value.
	name, _, _ := strings.Cut(cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName()), "=")
	// Cobra compares names of commands, so each flag becomes a command.
	flags := &cobra.Command{SuggestionsMinimumDistance: maxDistance}
	of.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" || len(f.Name) <= maxDistance {
			return
		}
		flags.AddCommand(&cobra.Command{Use: f.Name, SuggestFor: endings(f.Name), Run: func(*cobra.Command, []string) {}})
	})
	return slices.Compact(flags.SuggestionsFor(name))
}

// endings returns a flag's name without its first word, without its first two words, and so on.
func endings(name string) []string {
	var all []string
	for _, rest, more := strings.Cut(name, "-"); more; _, rest, more = strings.Cut(rest, "-") {
		all = append(all, rest)
	}
	return all
}
