package kubeonly

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// WrapFeatureGates adds the gates in --feature-gates that have no effect to the list of Given.
func (g *Given) WrapFeatureGates(flag *pflag.Flag, options *server.Options) {
	flag.Value = &gatesValue{flag.Value, g, options}
}

// gatesValue is the value of --feature-gates.
type gatesValue struct {
	pflag.Value
	given  *Given
	server *server.Options
}

// stages are gates that stand for all gates of a stage, alpha or beta. Some gates of each stage have no effect.
var stages = []string{"AllAlpha", "AllBeta"}

// Set sets the embedded value, a list of NAME=true|false, separated by commas. A NAME may come after the name of a
// component and a colon.
func (g *gatesValue) Set(value string) error {
	if err := g.Value.Set(value); err != nil {
		return err
	}
	for pair := range strings.SplitSeq(value, ",") {
		name, _, _ := strings.Cut(pair, "=")
		if _, after, component := strings.Cut(name, ":"); component {
			name = after
		}
		switch name = strings.TrimSpace(name); {
		case name == "":
		case slices.Contains(stages, name):
			g.given.add("--feature-gates " + name + " (for gates of parts that miniapi lacks)")
		case g.server.HasFeatureGate(name) && !g.server.ReadsFeatureGate(name):
			g.given.add("--feature-gates " + name)
		}
	}
	return nil
}
