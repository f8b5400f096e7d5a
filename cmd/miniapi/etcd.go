package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

// newEtcdCommand returns the command with etcd's own main, for projects that start etcd beside their kube-apiserver. The
// main parses its own flags and exits by itself.
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

// ownPace are the flags of etcd that give a member peers, which need a slower pace, or a pace of its own.
var ownPace = []string{
	"config-file", "heartbeat-interval", "election-timeout",
	"initial-cluster", "initial-cluster-state", "discovery", "discovery-srv",
}

// electAtOnce adds a fast pace to the flags of a member without peers: at etcd's default pace the member would take most
// of a second to elect itself.
func electAtOnce(args []string, getenv func(string) string) []string {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return args // another command of etcd
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
