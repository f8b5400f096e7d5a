//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// measureNew measures the first test on a new machine, whose caches are empty. It then measures the first test of a
// machine that has all modules and no network. The time of envtest doesn't include the download of kube-apiserver and
// etcd, which are in KUBEBUILDER_ASSETS.
func measureNew(ctx context.Context, t *table) error {
	if err := measureNewWith(ctx, t.miniapi, "withfixture"); err != nil {
		return err
	}
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil
	}
	return measureNewWith(ctx, t.reference, "withenvtest")
}

// measureNewWith measures the test of a package below hack/bench/edit: with empty caches, and then with the module
// cache that the first measurement has filled.
func measureNewWith(ctx context.Context, c column, name string) (err error) {
	folder, err := os.MkdirTemp("", "miniapi-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	modules := filepath.Join(folder, "modules")
	for _, round := range []struct {
		caches          string
		time, processor *row
		settings        []string
	}{
		{"first", &newTime, &newProcessor, nil},
		{"offline", &offlineTime, &offlineProcessor, []string{"GOPROXY=off"}},
	} {
		caches := filepath.Join(folder, round.caches)
		e := &edit{folder: folder, env: append(newMachine(caches, modules), round.settings...)}
		result, err := e.test(ctx, name)
		if err != nil {
			return err
		}
		c.set(round.time, result.took/1000)
		c.set(round.processor, result.processor/1000)
		if err := os.RemoveAll(caches); err != nil { // the build cache has gigabytes
			return err
		}
	}
	return nil
}

// newMachine returns the environment variables of a new machine. $MINIAPI isn't set. The build cache and the program
// cache are below the folder caches, and the module cache is the folder modules.
func newMachine(caches, modules string) []string {
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "MINIAPI=") })
	return append(env,
		"GOCACHE="+filepath.Join(caches, "build"), "XDG_CACHE_HOME="+filepath.Join(caches, "user"), "GOMODCACHE="+modules,
		"GOFLAGS="+os.Getenv("GOFLAGS")+" -modcacherw") // without the flag, the modules can't be removed
}
