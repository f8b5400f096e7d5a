package kubeonly

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// WrapFeatureGates makes --feature-gates accept the gates that only kube-apiserver has.
func (g *Given) WrapFeatureGates(flag *pflag.Flag, options *server.Options) {
	flag.Value = &gatesValue{flag.Value, g, options}
}

// gatesValue is the value of --feature-gates. It sets the options for gates that only admission plugins read, and
// passes the other gates of miniapi to the embedded value. It adds gates that only kube-apiserver has to the list of
// settings without an effect.
type gatesValue struct {
	pflag.Value
	given  *Given
	server *server.Options
}

// groupGates are gates that stand for all gates of a stage, alpha or beta. A warning says that they have no effect on
// some gates, because some gates of each stage exist only in kube-apiserver.
var groupGates = map[string]bool{"AllAlpha": true, "AllBeta": true}

// Set parses a list of NAME=true|false, separated by commas. A NAME may come after the name of a component and a colon.
func (g *gatesValue) Set(value string) error {
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
				g.given.add("--feature-gates " + name + " (for gates of kube-apiserver alone)")
			}
		case ours:
		case isKubeGate(name):
			g.given.add("--feature-gates " + name)
		default:
			return fmt.Errorf("unrecognized feature gate: %s: see the feature gates in the output of \"miniapi serve --help-all\"", name)
		}
	}
	if len(passed) == 0 {
		return nil
	}
	return g.Value.Set(strings.Join(passed, ","))
}
