package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/hooks"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

func newHooksOpenAPICommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "openapi [flags]",
		Short: "Print the OpenAPI document of all hooks",
		Long:  "Print the OpenAPI 3.0 document of all hooks: what an extension serves. It needs no server.",
		Args:  cli.UsageArgs(cli.FlagsAlone),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := openAPIText(format)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "yaml", "The format, `json or yaml`.")
	return cmd
}

// openAPIText returns the OpenAPI document of the hooks in a format.
func openAPIText(format string) ([]byte, error) {
	if format != "json" && format != "yaml" {
		return nil, cli.UsageError{Err: fmt.Errorf("--output %q: must be json or yaml", format)}
	}
	c, err := hooks.Catalog()
	if err != nil {
		return nil, err
	}
	document, err := c.OpenAPI(spec.Info{InfoProps: spec.InfoProps{
		Title: "Runtime hooks", Version: server.Version().GitVersion,
		Description: "What an extension serves: Discovery, and the hooks of its handlers.",
	}})
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil || format == "json" {
		return append(text, '\n'), err
	}
	return yaml.JSONToYAML(text)
}
