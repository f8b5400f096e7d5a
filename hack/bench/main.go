//go:build unix

// Command bench measures the servers that package miniapitest starts for tests, in a separate process and in this
// process. It also measures "miniapi serve". If KUBEBUILDER_ASSETS is set, the command measures the kube-apiserver and
// etcd of that folder with the same clients. It then prints how many times as good miniapi's figures are. To measure a
// single function, use the packages' own benchmarks: "make benchmarks".
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

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/program"
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
	binary := flag.String("binary", "bin/miniapi", "the path of the miniapi program")
	rounds := flag.Int("rounds", 20, "the number of measurements of a start, a call or another short operation; the figures are medians")
	first := flag.String("first", "", "measure only the first start of a server in this process, with this engine: fixture, servers or envtest; the bench runs itself with this flag")
	only := flag.String("only", "", "measure only one part: edits, trace, process, load, lists, firsts, workloads, extensions, reference, fixture, servers, packages or new; packages and new are measured only with this flag")
	flag.Parse()
	quietLogs()
	log.SetLogger(logr.Discard())
	if *first != "" {
		return holdFirst(ctx, *first)
	}
	path, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	if err := os.Setenv(program.Variable, path); err != nil { //nolint:forbidigo // the bench is a command: the fixture finds the program by its environment
		return err
	}
	table := newTable()
	measures := []struct {
		name    string
		measure func() error
		asked   bool // the part is measured only if -only names it
	}{
		{"edits", func() error { return measureEdit(ctx, table, path, editRounds) }, false},
		{"trace", func() error { return measureTrace(ctx, table, path) }, false},
		{"process", func() error { return measureProcess(ctx, table, path, *rounds) }, false},
		{"load", func() error { return measureLoad(ctx, table, path) }, false},
		{"lists", func() error { return measureLists(ctx, table, path) }, false},
		{"firsts", func() error { return measureFirsts(ctx, table, path) }, false},
		{"workloads", func() error { return measureWorkloads(ctx, table, path, *rounds) }, false},
		{"extensions", func() error { return measureExtensions(ctx, table, path, *rounds) }, false},
		{"reference", func() error { return measureReference(ctx, table) }, false},
		{"fixture", func() error { return fixture().measure(ctx, table.miniapi, *rounds) }, false},
		// The servers of this part run in this process, and leave memory that would slow down the clients of the parts
		// above. So this part comes after them.
		{"servers", func() error { return measureInProcess(ctx, table, *rounds) }, false},
		{"packages", func() error { return measurePackages(ctx, table) }, true},
		{"new", func() error { return measureNew(ctx, table) }, true}, // this compiles everything, which takes minutes
	}
	defer table.print(os.Stdout)
	known := *only == ""
	for _, part := range measures {
		if part.name != *only && (*only != "" || part.asked) {
			continue
		}
		known = true
		if err := part.measure(); err != nil {
			return err
		}
	}
	if !known {
		return fmt.Errorf("-only %s: must be a part of the bench, as -help lists them", *only)
	}
	return nil
}
