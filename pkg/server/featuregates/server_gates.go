package featuregates

import (
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
)

// ComponentName is the name of kube-apiserver in --emulated-version.
const ComponentName = basecompatibility.DefaultKubeComponent

// Globals are the feature gates and versions of one server. The libraries have only one set of gates and versions in a
// process: see Process.
type Globals struct {
	process *Process

	basecompatibility.ComponentGlobalsRegistry
	gates    featuregate.MutableVersionedFeatureGate
	versions basecompatibility.MutableEffectiveVersion
	// wanted are the gates and versions that the flags and options choose. Choose sets them.
	wanted settings
}

// NewGlobals returns the gates and versions of a new server.
func NewGlobals(process *Process) *Globals {
	g := &Globals{
		process:                  process,
		ComponentGlobalsRegistry: basecompatibility.NewComponentGlobalsRegistry(),
		gates:                    process.newGates(), versions: compatibility.DefaultBuildEffectiveVersion(),
	}
	// The registry is new, so a registration can't fail.
	utilruntime.Must(g.Register(ComponentName, g.versions, g.gates))
	return g
}

// Emulate makes the server behave as a version of Kubernetes, such as 1.35.
func (g *Globals) Emulate(minor string) error {
	v, err := version.ParseMajorMinor(minor)
	if err != nil {
		return fmt.Errorf("emulated version %q: must be MAJOR.MINOR, such as 1.35: %w", minor, err)
	}
	g.versions.SetEmulationVersion(v)
	return nil
}

// Versions returns the version that the server emulates, and the version of the binary.
func (g *Globals) Versions() basecompatibility.EffectiveVersion { return g.versions }

// Gates returns the feature gates of the server. They have their final values after Choose.
func (g *Globals) Gates() featuregate.FeatureGate { return g.gates }

// Has reports whether the server has a feature gate.
func (g *Globals) Has(gate featuregate.Feature) bool {
	_, ok := g.gates.GetAllVersioned()[gate]
	return ok
}

// OfLibraries reports whether the libraries have a feature gate. They read it themselves.
func (g *Globals) OfLibraries(gate featuregate.Feature) bool {
	_, ok := g.process.gates.GetAllVersioned()[gate]
	return ok
}

// AddMetrics records the gates and versions in metrics.
func (g *Globals) AddMetrics() {
	g.gates.AddMetrics()
	g.ComponentGlobalsRegistry.AddMetrics()
}

// Key returns a text. Two servers with the same text have the same gates and versions. Key must be called after Choose.
func (g *Globals) Key() string {
	return fmt.Sprint(g.wanted.emulated, g.wanted.compatible, g.wanted.given)
}

// Enter gives the process the gates and versions of the server. It returns an error if running servers have other
// gates or versions. Without an error, the caller must call leave when the server has stopped.
func (g *Globals) Enter() (leave func() error, err error) { return g.process.enter(g.wanted) }

// Choose sets the gates and versions of the flags, and then the given gates. It must be called before Enter.
func (g *Globals) Choose(gates map[string]bool) error {
	err := g.Set()
	if err == nil && len(gates) > 0 {
		err = g.gates.SetFromMap(gates)
	}
	g.wanted = settingsOf(g.gates, g.versions)
	return err
}
