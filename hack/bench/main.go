// Command bench measures miniapi: in this process, as in a test, and as "miniapi serve". If KUBEBUILDER_ASSETS is set,
// the command measures the kube-apiserver and etcd of that folder with the same clients, and prints the ratio of their
// figures to miniapi's. To measure a single function, use the packages' own benchmarks: "make benchmarks".
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
	only := flag.String("only", "", "measure one part alone: edits, trace, process, extensions, reference, servers, or new, which isn't measured otherwise")
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
	measures := []struct {
		name    string
		measure func() error
	}{
		{"edits", func() error { return measureEdit(ctx, table, path, editRounds) }},
		{"trace", func() error { return measureTrace(ctx, table, path) }},
		// Servers in this process come last, because the memory that they leave would slow down the clients.
		{"process", func() error { return measureProcess(ctx, table, path, *rounds) }},
		{"extensions", func() error { return measureExtensions(ctx, table, path, *rounds) }},
		{"reference", func() error { return measureReference(ctx, table) }},
		{"servers", func() error { return measureInProcess(ctx, table, *rounds) }},
		// This measurement compiles everything, which takes minutes.
		{"new", func() error { return measureNew(ctx, table) }},
	}
	defer table.print(os.Stdout)
	known := *only == ""
	for _, part := range measures {
		if part.name != *only && (*only != "" || part.name == "new") {
			continue
		}
		known = true
		if err := part.measure(); err != nil {
			return err
		}
	}
	if !known {
		return fmt.Errorf("-only %s: there is no such part", *only)
	}
	return nil
}
