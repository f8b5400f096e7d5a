package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// HelpAll is the name of the flag that prints all flags of a command. The command's --help prints only some of them.
const HelpAll = "help-all"

// FlagError turns an error of a flag into a UsageError that names the flag, its value and what would be right.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var valueless *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		return UsageError{unknownFlag(cmd, unknown)}
	case errors.As(err, &invalid):
		return UsageError{fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), rightValue(invalid))}
	case errors.As(err, &valueless):
		placeholder, _ := pflag.UnquoteUsage(valueless.GetFlag())
		return UsageError{fmt.Errorf("--%s: must have a value, as in --%[1]s %s", valueless.GetFlag().Name, placeholder)}
	}
	return UsageError{err}
}

// unknownFlag adds flags with similar names to an error, or else the command that lists the flags.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	help := cmd.CommandPath() + " --help"
	if cmd.Flags().Lookup(HelpAll) != nil {
		help = cmd.CommandPath() + " --" + HelpAll
	}
	similar := similarFlags(cmd.Flags(), unknown)
	if len(similar) == 0 || len(similar) > maxSimilar {
		return fmt.Errorf("%w: see %s", unknown, help)
	}
	return fmt.Errorf("%w: did you mean --%s?", unknown, strings.Join(similar, " or --"))
}

// rightValues says which values flags of a type take, by the name of the type. Flags of other types have errors of their
// own.
var rightValues = map[string]string{
	"bool":        "true or false",
	"int":         "a whole number",
	"int32":       "a whole number",
	"int64":       "a whole number",
	"uint":        "a whole number from 0",
	"uint16":      "a whole number from 0 to 65535",
	"uint32":      "a whole number from 0",
	"uint64":      "a whole number from 0",
	"float32":     "a number",
	"float64":     "a number",
	"duration":    "a duration, such as 30s or 1h30m",
	"ip":          "an IP address, such as 127.0.0.1",
	"stringToInt": "pairs NAME=NUMBER, separated by commas",
}

// rightValue returns an error that says which values a flag takes. The functions of package strconv and time say only
// that they can't parse the value.
func rightValue(invalid *pflag.InvalidValueError) error {
	right, known := rightValues[invalid.GetFlag().Value.Type()]
	switch {
	case !known:
		return invalid.Unwrap()
	case errors.Is(invalid, strconv.ErrRange):
		return fmt.Errorf("is out of range, must be %s", right)
	}
	return fmt.Errorf("must be %s", right)
}
