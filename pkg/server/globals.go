package server

import (
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
)

// componentName is what kube-apiserver calls itself in --emulated-version.
const componentName = basecompatibility.DefaultKubeComponent

// ownDefaults are the feature gates with another default here than in the Kubernetes version of the k8s.io modules.
var ownDefaults = map[featuregate.Feature]bool{
	// On since 1.37, the gate takes whatever can't be decoded for corrupt: healthy objects, too, while their conversion
	// webhook doesn't answer. A client that insists deletes them.
	features.AllowUnsafeMalformedObjectDeletion: false,
}

// globals are a server's own of what kube-apiserver keeps once a process: feature gates and versions.
type globals struct {
	basecompatibility.ComponentGlobalsRegistry
	gates    featuregate.MutableVersionedFeatureGate
	versions basecompatibility.MutableEffectiveVersion
	// wanted is what the flags and options come to, once they are set.
	wanted settings
}

func newGlobals() *globals {
	g := &globals{
		ComponentGlobalsRegistry: basecompatibility.NewComponentGlobalsRegistry(),
		gates:                    process.newGates(), versions: compatibility.DefaultBuildEffectiveVersion(),
	}
	// The registry is new: registering in it can't fail.
	utilruntime.Must(g.Register(componentName, g.versions, g.gates))
	return g
}

// EmulateVersion makes the server behave as a version of Kubernetes, such as 1.35, as --emulated-version does.
func (o *Options) EmulateVersion(minor string) error {
	v, err := version.ParseMajorMinor(minor)
	if err != nil {
		return fmt.Errorf("emulated version %q: must be as 1.35 is: %w", minor, err)
	}
	o.globals.versions.SetEmulationVersion(v)
	return nil
}

// KnownFeatureGates returns the feature gates that the server knows, and what is known of each by version.
func (o *Options) KnownFeatureGates() map[featuregate.Feature]featuregate.VersionedSpecs {
	return o.globals.gates.GetAllVersioned()
}

// AddMetrics records which gates and versions the options choose, for a program that runs one server.
func (o *Options) AddMetrics() {
	o.globals.gates.AddMetrics()
	o.globals.ComponentGlobalsRegistry.AddMetrics()
}

// set applies flags, and then the gates that are given by name.
func (g *globals) set(gates map[string]bool) error {
	err := g.Set()
	if err == nil && len(gates) > 0 {
		err = g.gates.SetFromMap(gates)
	}
	g.wanted = settingsOf(g.gates, g.versions)
	return err
}
