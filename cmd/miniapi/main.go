// Command miniapi is a Kubernetes-style API server for people who write admission
// webhooks, controllers and operators. Called by the name kube-apiserver or etcd it is
// that subcommand.
package main

import (
	"os"
	"path/filepath"
	_ "time/tzdata" // CronJobs name time zones, also where the machine has none

	"github.com/spf13/cobra"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

func main() { os.Exit(run(os.Args)) }

// run is main with the arguments given: it returns the exit code.
func run(args []string) int {
	// The gates of logging are added by each main: libraries must not.
	if err := logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate); err != nil {
		return report(err, os.Stderr)
	}
	root := newRootCommand()
	root.SetArgs(subcommandByName(args))
	return report(root.Execute(), os.Stderr)
}

// subcommandByName gives the arguments after the program's name; a link's name stands
// for its subcommand.
func subcommandByName(args []string) []string {
	switch name := filepath.Base(args[0]); name {
	case "kube-apiserver", "etcd":
		return append([]string{name}, args[1:]...)
	}
	return args[1:]
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "miniapi",
		Short:         "A Kubernetes API server for webhooks, controllers and operators under development",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usageArgs(knownSubcommand),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:       server.Version().GitVersion,

		SuggestionsMinimumDistance: 2,
		DisableFlagsInUseLine:      true,
	}
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(newServeCommand(), newKubeAPIServerCommand(), newEtcdCommand(), newAssetsCommand(), newCertCommand(), newVersionCommand())
	addCompletion(root)
	return root
}
