package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

func newVersionCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  miniapi version
  miniapi version -o json`,
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := versionText(format)
			if err != nil {
				return cli.UsageError{Err: err}
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "Print the details of the build, as `json or yaml`.")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	// RegisterFlagCompletionFunc fails only for unknown flags.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// versionText returns the version in an output format. With the format "", the text is one line.
func versionText(format string) (string, error) {
	version := server.Version()
	switch format {
	case "":
		return version.GitVersion + "\n", nil
	case "json":
		text, err := json.MarshalIndent(version, "", "  ")
		return string(text) + "\n", err
	case "yaml":
		text, err := yaml.Marshal(version)
		return string(text), err
	}
	return "", fmt.Errorf("--output %q: must be json or yaml", format)
}
