package main

import (
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

// newEtcdCommand is etcd's own main, for projects that start an etcd beside their
// kube-apiserver. It parses its own flags and exits by itself.
func newEtcdCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "etcd FLAGS",
		Short:              "Run etcd, with etcd's own flags",
		DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) {
			etcdmain.Main(append([]string{"etcd"}, args...))
		},
	}
}
