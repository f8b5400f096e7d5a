package main

import (
	"github.com/spf13/cobra"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/hooks"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

func newHooksOpenAPICommand() *cobra.Command {
	format := output.Format{Name: output.YAML}
	cmd := &cobra.Command{
		Use:   "openapi [flags]",
		Short: "Print the OpenAPI document of all hooks",
		Long:  "Print the OpenAPI 3.0 document of all hooks: what an extension serves. It needs no server.",
		Args:  cli.UsageArgs(cli.FlagsAlone),
		RunE: func(cmd *cobra.Command, _ []string) error {
			document, err := openAPI()
			if err != nil {
				return err
			}
			return format.Print(cmd.OutOrStdout(), document, nil)
		},
	}
	format.AddFlag(cmd, "Format: json or yaml.", output.JSON, output.YAML)
	return cmd
}

// openAPI returns the OpenAPI document of the hooks.
func openAPI() (*spec3.OpenAPI, error) {
	c, err := hooks.Catalog()
	if err != nil {
		return nil, err
	}
	return c.OpenAPI(spec.Info{InfoProps: spec.InfoProps{
		Title: "Runtime hooks", Version: server.Version().GitVersion,
		Description: "What an extension serves: Discovery, and the hooks of its handlers.",
	}})
}
