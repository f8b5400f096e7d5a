package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

// newEtcdCommand is etcd's own main, for projects that start an etcd beside their
// kube-apiserver. It parses its own flags and exits by itself.
func newEtcdCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "etcd [flags]",
		Short:              "Run etcd, with etcd's own flags",
		DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) {
			memory := newMemory(os.Getenv)
			defer memory.release()
			memory.holdStacks(etcdGoroutines)
			etcdmain.Main(append([]string{"etcd"}, electAtOnce(args, os.Getenv)...))
		},
	}
}

// etcdGoroutines are what etcd has for one kube-apiserver, which opens a connection for each resource.
const etcdGoroutines = 500

// ownPace are etcd's flags by which a member has peers to keep in step with, or says
// itself at which pace.
var ownPace = []string{
	"config-file", "heartbeat-interval", "election-timeout",
	"initial-cluster", "initial-cluster-state", "discovery", "discovery-srv",
}

// electAtOnce adds a pace to the flags of a member without peers: nobody contests its
// election, and at etcd's default pace it would take most of a second all the same.
func electAtOnce(args []string, getenv func(string) string) []string {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return args // one of etcd's other commands
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
