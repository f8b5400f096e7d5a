package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

// newEtcdCommand returns the command that runs etcd's own main function, for projects that start an etcd for their
// kube-apiserver. The main function parses the flags and ends the process by itself.
func newEtcdCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "etcd [flags]",
		Short:              "Run etcd, with etcd's own flags",
		DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) {
			etcdmain.Main(append([]string{"etcd"}, electAtOnce(args, os.Getenv)...))
		},
	}
}

// ownPace are flags of etcd. If one of them is set, electAtOnce leaves etcd's pace unchanged:
//
//   - With config-file, etcd reads no other flag.
//   - The flags heartbeat-interval and election-timeout set the pace.
//   - The other flags are for members with peers, which need etcd's default pace.
var ownPace = []string{
	"config-file", "heartbeat-interval", "election-timeout",
	"initial-cluster", "initial-cluster-state", "discovery", "discovery-srv",
}

// electAtOnce adds a short heartbeat interval and a short election timeout to the flags, unless a flag of ownPace is
// set. With etcd's defaults, a member without peers needs most of a second to elect itself.
func electAtOnce(args []string, getenv func(string) string) []string {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return args // other commands of etcd parse their own arguments
	}
	given := func(name string) bool {
		return getenv("ETCD_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))) != "" ||
			slices.ContainsFunc(args, func(arg string) bool {
				flag, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
				return flag == name && strings.HasPrefix(arg, "-")
			})
	}
	if slices.ContainsFunc(ownPace, given) {
		return args
	}
	return append(slices.Clone(args), "--heartbeat-interval=5", "--election-timeout=25")
}
