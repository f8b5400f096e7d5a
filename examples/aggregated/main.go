// Command aggregated is an API server of its own kinds, which runs behind a cluster, as docs/aggregated.md shows:
//
//	go run ./examples/aggregated --secure-port 0 --behind ~/.kube/config --register
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/tuning"
	"github.com/miniapi-dev/miniapi/examples/aggregated/wardle"
	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	runtime := tuning.Start(os.Getenv)
	ready := func(s *server.Server) { runtime.Ready(); fmt.Println("serving on", s.Address()) }
	if err := run(ctx, os.Args[1:], ready); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and calls ready when the server is ready.
func run(ctx context.Context, args []string, ready func(*server.Server)) (err error) {
	options := server.NewOptions()
	if options.Table, err = registry.NewTable(wardle.Group); err != nil {
		return err
	}
	options.Admission.Plugins = []admission.Plugin{{Name: "BanFlunder", New: wardle.NewBanFlunder}}
	flags, sections := pflag.NewFlagSet("aggregated", pflag.ContinueOnError), flag.NamedFlagSets{}
	options.AddFlags(&sections)
	for _, section := range sections.FlagSets {
		flags.AddFlagSet(section)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	return options.Run(ctx, ready)
}
