// Package output has the flag --output of commands that print values as JSON or YAML, beside a text for people. [Format]
// is the way in. Don't use the package for the text, which is in the command's own file.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The formats that Print knows.
const (
	JSON = "json"
	YAML = "yaml"
)

// Format is the value of --output. The empty value stands for the command's text, unless the command has another default.
type Format struct {
	Name    string
	allowed []string
}

// AddFlag adds --output with the allowed formats, and their completion.
func (f *Format) AddFlag(cmd *cobra.Command, usage string, allowed ...string) {
	f.allowed = allowed
	cmd.Flags().VarP(f, "output", "o", usage)
	// RegisterFlagCompletionFunc fails only for unknown flags.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

// String implements pflag.Value.
func (f *Format) String() string { return f.Name }

// Type implements pflag.Value.
func (f *Format) Type() string { return "FORMAT" }

// Set implements pflag.Value.
func (f *Format) Set(value string) error {
	if value != "" && !slices.Contains(f.allowed, value) {
		last := len(f.allowed) - 1
		return fmt.Errorf("must be %s or %s", strings.Join(f.allowed[:last], ", "), f.allowed[last])
	}
	f.Name = value
	return nil
}

// Print prints a value if the format is JSON or YAML. Otherwise, it calls text, which prints the value for people.
func (f *Format) Print(out io.Writer, value any, text func(io.Writer) error) error {
	switch f.Name {
	case JSON:
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	case YAML:
		encoded, err := yaml.Marshal(value)
		if err == nil {
			_, err = out.Write(encoded)
		}
		return err
	}
	return text(out)
}
