// Command miniapi is a Kubernetes-style API server for people who write admission
// webhooks, controllers and operators. A link with the name kube-apiserver or etcd runs the subcommand of that name.
package main

import (
	"os"
	"path/filepath"
	_ "time/tzdata" // CronJobs name time zones, and some machines have no database of time zones

	"github.com/spf13/cobra"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

func main() { os.Exit(run(os.Args)) }

// run runs the program with arguments and returns the exit code.
func run(args []string) int {
	// The gates belong to the whole process, so only the program may add the feature gates of logging.
	if err := logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate); err != nil {
		return cli.Report(err, os.Stderr)
	}
	root := newRootCommand()
	root.SetArgs(subcommandByName(args))
	return cli.Report(cli.Execute(root), os.Stderr)
}

// subcommandByName returns the arguments after the program's name. If the program was started by a link with the name
// kube-apiserver or etcd, that name comes before these arguments, as the subcommand.
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
		Args:          cli.UsageArgs(cli.KnownSubcommand),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:       server.Version().GitVersion,

		DisableFlagsInUseLine: true,
	}
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(newServeCommand(), newKubeAPIServerCommand(), newEtcdCommand(), newAggregatedCommand(), newAssetsCommand(), newCertCommand(), newCheckCommand(), newConformanceCommand(), newContainerInitCommand(), newFaultsCommand(), newHooksCommand(), newTraceCommand(), newHostCommand(), newListCommand(), newRecordCommand(), newReplayCommand(), newResetCommand(), newRestoreCommand(), newReviewCommand(), newSnapshotCommand(), newStopCommand(), newTestCommand(), newVersionCommand(), newWaitCommand())
	addCompletion(root)
	addHelp(root)
	return root
}
