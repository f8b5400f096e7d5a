package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// inertFlagsOfKind are kube-apiserver's flags that mean nothing here, by the kind of
// their value. They are accepted, so that command lines written for it work.
var inertFlagsOfKind = map[string][]string{
	"bool": {
		"enable-logs-handler",
		"enable-priority-and-fairness",
	},
	"duration": {
		"coordinated-leadership-lease-duration",
		"coordinated-leadership-renew-deadline",
		"coordinated-leadership-retry-period",
		"kubelet-timeout", // kube-apiserver has no use for it either
	},
	"int": {
		"kubernetes-service-node-port",
		"max-connection-bytes-per-sec",
	},
	"string": {
		"allow-metric-labels-manifest",
		"egress-selector-config-file",
		"service-account-signing-endpoint",
		"show-hidden-metrics-for-version",
	},
	"strings":        {"disabled-metrics"},
	"stringToString": {"allow-metric-labels"},
}

// inertFlags remembers what was given and means nothing here.
type inertFlags struct {
	given []string
}

// addTo defines the flags. Their values are checked, as kube-apiserver would.
func (f *inertFlags) addTo(fs *pflag.FlagSet) {
	defined := pflag.NewFlagSet("", pflag.ContinueOnError)
	for kind, names := range inertFlagsOfKind {
		for _, name := range names {
			defineFlag(defined, kind, name)
		}
	}
	defined.VisitAll(func(flag *pflag.Flag) {
		flag.Value = &inertValue{flag.Value, f, "--" + flag.Name}
		flag.Hidden = true
		fs.AddFlag(flag)
	})
}

func defineFlag(fs *pflag.FlagSet, kind, name string) {
	const usage = "Accepted, and ignored."
	switch kind {
	case "bool":
		fs.Bool(name, false, usage)
	case "duration":
		fs.Duration(name, 0, usage)
	case "int":
		fs.Int(name, 0, usage)
	case "strings":
		fs.StringSlice(name, nil, usage)
	case "stringToString":
		fs.StringToString(name, nil, usage)
	default:
		fs.String(name, "", usage)
	}
}

// note remembers something that was given and means nothing.
func (f *inertFlags) note(what string) {
	if !slices.Contains(f.given, what) {
		f.given = append(f.given, what)
	}
}

// warn names, once and on one line, everything that was given and means nothing here.
func (f *inertFlags) warn(to io.Writer) {
	if len(f.given) > 0 {
		fmt.Fprintf(to, "Warning: kube-apiserver has these, and they mean nothing here: %s\n", strings.Join(f.given, ", "))
	}
}

// inertValue is the pflag.Value of an inert flag.
type inertValue struct {
	pflag.Value
	flags *inertFlags
	name  string
}

func (v *inertValue) Set(value string) error {
	if err := v.Value.Set(value); err != nil {
		return err
	}
	v.flags.note(v.name)
	return nil
}
