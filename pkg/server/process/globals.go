package process

import (
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
)

// ComponentName is what kube-apiserver calls itself in --emulated-version.
const ComponentName = basecompatibility.DefaultKubeComponent

// ownDefaults are the feature gates with another default here than in the Kubernetes version of the k8s.io modules.
var ownDefaults = map[featuregate.Feature]bool{
	// On since 1.37, the gate takes whatever can't be decoded for corrupt: healthy objects, too, while their conversion
	// webhook doesn't answer. A client that insists deletes them.
	features.AllowUnsafeMalformedObjectDeletion: false,
}

// Globals are the feature gates and versions of one server, which kube-apiserver keeps once a process.
type Globals struct {
	process *Process

	basecompatibility.ComponentGlobalsRegistry
	gates    featuregate.MutableVersionedFeatureGate
	versions basecompatibility.MutableEffectiveVersion
	// wanted is what the flags and options come to, once they are set.
	wanted settings
}

// NewGlobals returns the gates and versions that the process has.
func NewGlobals(process *Process) *Globals {
	g := &Globals{
		process:                  process,
		ComponentGlobalsRegistry: basecompatibility.NewComponentGlobalsRegistry(),
		gates:                    process.newGates(), versions: compatibility.DefaultBuildEffectiveVersion(),
	}
	// The registry is new: registering in it can't fail.
	utilruntime.Must(g.Register(ComponentName, g.versions, g.gates))
	return g
}

// Emulate makes the server behave as a version of Kubernetes, such as 1.35.
func (g *Globals) Emulate(minor string) error {
	v, err := version.ParseMajorMinor(minor)
	if err != nil {
		return fmt.Errorf("emulated version %q: must be as 1.35 is: %w", minor, err)
	}
	g.versions.SetEmulationVersion(v)
	return nil
}

// Versions are the version that the server emulates, and that of the binary.
func (g *Globals) Versions() basecompatibility.EffectiveVersion { return g.versions }

// KnownGates returns the feature gates that the server knows, and what is known of each by version.
func (g *Globals) KnownGates() map[featuregate.Feature]featuregate.VersionedSpecs {
	return g.gates.GetAllVersioned()
}

// AddMetrics records which gates and versions are chosen.
func (g *Globals) AddMetrics() {
	g.gates.AddMetrics()
	g.ComponentGlobalsRegistry.AddMetrics()
}

// Key is the same for servers that want the same gates and versions.
func (g *Globals) Key() string {
	return fmt.Sprint(g.wanted.emulated, g.wanted.compatible, g.wanted.given)
}

// Enter makes the process's gates and versions those of the server, or returns an error if servers run that have
// others. A caller that gets no error calls leave when the server needs them no longer.
func (g *Globals) Enter() (leave func() error, err error) { return g.process.enter(g.wanted) }

// Choose applies flags, and then the gates that are given by name. Enter is for afterwards.
func (g *Globals) Choose(gates map[string]bool) error {
	err := g.Set()
	if err == nil && len(gates) > 0 {
		err = g.gates.SetFromMap(gates)
	}
	g.wanted = settingsOf(g.gates, g.versions)
	return err
}
