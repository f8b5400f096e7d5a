package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// measureNew measures the first test on a new machine: the build cache is empty, and there is no miniapi program. The
// time doesn't include downloads, because these depend on the network: the module cache is full and, for envtest,
// KUBEBUILDER_ASSETS has the programs.
func measureNew(ctx context.Context, t *table) error {
	for _, test := range []struct {
		name   string
		column column
	}{{"withfixture", t.miniapi}, {"withenvtest", t.reference}} {
		if test.name == "withenvtest" && os.Getenv("KUBEBUILDER_ASSETS") == "" {
			continue
		}
		folder, err := os.MkdirTemp("", "miniapi-bench-")
		if err != nil {
			return err
		}
		e := &edit{folder: folder, env: newMachine(folder)}
		result, err := e.test(ctx, test.name)
		if err == nil {
			test.column.set(&newTime, result.took/1000)
			test.column.set(&newProcessor, result.processor/1000)
		}
		if removeErr := os.RemoveAll(folder); err == nil {
			err = removeErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// newMachine returns an environment whose build cache and program cache are empty folders below folder.
func newMachine(folder string) []string {
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "MINIAPI=") })
	return append(env, "GOCACHE="+filepath.Join(folder, "build"), "XDG_CACHE_HOME="+filepath.Join(folder, "cache"))
}
