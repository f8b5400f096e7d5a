package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

func newVersionCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  miniapi version
  miniapi version -o json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := versionText(format)
			if err != nil {
				return usageError{err}
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "Print all that is known of the build, as `json or yaml`.")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	// The flag is there, and once: the error can't occur.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// versionText is the version in a format, which is a line if it is "".
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

// versionFlag is --version of kube-apiserver: true, false, or raw for all that is known.
type versionFlag string

func (v *versionFlag) String() string { return string(*v) }
func (v *versionFlag) Type() string   { return "version" }

func (v *versionFlag) Set(value string) error {
	if _, err := strconv.ParseBool(value); err != nil && value != "raw" {
		return errors.New("must be true, false or raw")
	}
	*v = versionFlag(value)
	return nil
}

// writeTo writes the version as kube-apiserver does, and says whether that was asked for.
func (v *versionFlag) writeTo(to io.Writer) bool {
	if *v == "raw" {
		fmt.Fprintf(to, "%#v\n", server.Version())
		return true
	}
	asked, _ := strconv.ParseBool(string(*v))
	if asked {
		fmt.Fprintf(to, "Kubernetes %s\n", server.Version().GitVersion)
	}
	return asked
}
