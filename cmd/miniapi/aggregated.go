package main

import (
	_ "embed"
	"errors"
	"fmt"
	"text/template"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// aggregatedManifests is the template of the manifests.
//
//go:embed aggregated.yaml
var aggregatedManifests string

func newAggregatedCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "aggregated",
		Short: "Run API servers of your own kinds behind a cluster",
		Args:  cli.UsageArgs(cli.KnownSubcommand),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAggregatedManifestsCommand())
	return cmd
}

// deployment names the objects of an aggregated server in a cluster.
type deployment struct{ Namespace, Name, Image string }

func newAggregatedManifestsCommand() *cobra.Command {
	d := deployment{}
	cmd := &cobra.Command{
		Use:   "manifests --image IMAGE [flags]",
		Short: "Print the roles, the Service and the Deployment of an aggregated server",
		Long: `Print the manifests of an aggregated API server in a cluster: its service account with the
roles that it needs, a Service, and a Deployment that runs the program with --behind
in-cluster and --register. The roles are those that a server outside the cluster needs, too.`,
		Example: `  miniapi aggregated manifests --image registry.example.com/wardle:1 | kubectl apply -f -`,
		Args:    cli.UsageArgs(cli.FlagsAlone),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := d.validate(); err != nil {
				return cli.UsageError{Err: err}
			}
			parsed, err := template.New("manifests").Parse(aggregatedManifests)
			if err != nil {
				return err
			}
			return parsed.Execute(cmd.OutOrStdout(), d)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&d.Image, "image", "", "The `IMAGE` whose entry point is the server.")
	flags.StringVar(&d.Namespace, "namespace", "aggregated", "The `NAMESPACE` of the server.")
	flags.StringVar(&d.Name, "name", "server", "The `NAME` of the Deployment, the Service and the service account.")
	return cmd
}

func (d deployment) validate() error {
	if d.Image == "" {
		return errors.New("--image: must name the image of the server, as in --image registry.example.com/wardle:1")
	}
	for flag, value := range map[string]string{"namespace": d.Namespace, "name": d.Name} {
		if problems := validation.IsDNS1035Label(value); len(problems) > 0 {
			return fmt.Errorf("--%s %q: %s", flag, value, problems[0])
		}
	}
	return nil
}
