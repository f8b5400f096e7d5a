// Command bench measures miniapi: in this process, as in a test, and as "miniapi serve". With KUBEBUILDER_ASSETS set,
// it measures the kube-apiserver and etcd there with the same clients, and prints how many times as good miniapi is. To
// measure a single function, use the packages' own benchmarks: "make benchmarks".
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	binary := flag.String("binary", "bin/miniapi", "the miniapi to run as a process")
	rounds := flag.Int("rounds", 20, "how often a cheap thing is measured; the figures are medians")
	first := flag.Bool("first", false, "measure the start of this process's first server alone; what the bench itself runs")
	edits := flag.Bool("edits", false, "measure edits of a test alone")
	flag.Parse()
	quietLogs()
	log.SetLogger(logr.Discard())
	if *first {
		return measureFirst(ctx)
	}
	path, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	table := newTable()
	measures := []func(context.Context) error{
		func(ctx context.Context) error { return measureEdit(ctx, table, path, editRounds) },
		// Servers in this process are last: the state that they leave would slow the clients.
		func(ctx context.Context) error { return measureProcess(ctx, table, path, *rounds) },
		func(ctx context.Context) error { return measureReference(ctx, table) },
		func(ctx context.Context) error { return measureInProcess(ctx, table, *rounds) },
	}
	if *edits {
		measures = measures[:1]
	}
	defer table.print(os.Stdout)
	for _, measure := range measures {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return nil
}
