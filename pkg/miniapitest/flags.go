package miniapitest

import (
	"fmt"
	"strings"
)

// ownFlags are the flags that WithFlags refuses, because options of the fixture set them. The values say what to use
// instead.
var ownFlags = map[string]string{
	"data-dir":                  "WithDataDir sets it",
	"controllers":               "WithControllers sets it",
	"disable-admission-plugins": "WithoutAdmissionPlugins sets it",
	"emulated-version":          "WithEmulatedVersion sets it",
	"enable-admission-plugins":  "WithAdmissionPlugins sets it",
	"feature-gates":             "WithFeatureGates sets it",
	"min-compatibility-version": "it is of the process: see package inprocess",
	"runtime-config":            "WithAPIs sets it",
	"secure-port":               "the server takes a free port",
}

// WithFlags sets flags of "miniapi serve", each as --name=value, or as --name for true. "miniapi serve --help-all"
// lists them. Relative paths in flags start at the working directory of the test process when it starts its first
// server. That is usually the folder of the test.
func WithFlags(flags ...string) Option {
	return func(o *options) error {
		for _, flag := range flags {
			name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
			if !strings.HasPrefix(flag, "--") || name == "" {
				return fmt.Errorf("WithFlags: %q: a flag must be --name=value, or --name for true", flag)
			}
			if instead, own := ownFlags[name]; own {
				return fmt.Errorf("WithFlags: --%s is not for tests: %s", name, instead)
			}
		}
		o.description.Flags = append(o.description.Flags, flags...)
		return nil
	}
}
