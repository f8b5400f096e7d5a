package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// lenientGates passes on the feature gates that this process knows, and notes those
// that exist in kube-apiserver alone.
type lenientGates struct {
	pflag.Value
	inert  *inertFlags
	server *server.Options
}

// groupGates stand for all gates of a stage: those of kube-apiserver too.
var groupGates = map[string]bool{"AllAlpha": true, "AllBeta": true}

// Set takes NAME=true|false pairs separated by commas, each optionally with the
// component's name and a colon before it.
func (g *lenientGates) Set(value string) error {
	known := g.server.KnownFeatureGates()
	var passed []string
	for pair := range strings.SplitSeq(value, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, setting, _ := strings.Cut(pair, "=")
		if _, after, component := strings.Cut(name, ":"); component {
			name = after
		}
		name = strings.TrimSpace(name)
		on, err := strconv.ParseBool(strings.TrimSpace(setting))
		if err != nil {
			return fmt.Errorf("%q: must be %s=true or %s=false", pair, name, name)
		}
		ours := g.server.Admission.SetGate(name, on)
		_, here := known[featuregate.Feature(name)]
		switch {
		case here:
			passed = append(passed, pair)
			if groupGates[name] {
				g.inert.note("--feature-gates " + name + " (for gates of kube-apiserver alone)")
			}
		case ours:
		case isKubeFeatureGate(name):
			g.inert.note("--feature-gates " + name)
		default:
			return fmt.Errorf("unrecognized feature gate: %s", name)
		}
	}
	if len(passed) == 0 {
		return nil
	}
	return g.Value.Set(strings.Join(passed, ","))
}
