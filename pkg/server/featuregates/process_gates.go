// Package featuregates guards variables that exist only once in a process: the feature gates and versions of
// k8s.io/apiserver and k8s.io/component-base. Servers that run at the same time must have the same gates and versions.
//
// [New] returns the guard. [NewGlobals] returns the gates and versions of one server. Don't use the package for other
// state that the servers of a process share: pkg/server/shared.go has that state.
package featuregates

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	metricsfeatures "k8s.io/component-base/metrics/features"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/registry/features"
)

// Process guards the feature gates and versions of the libraries. It changes them for servers with other settings, and
// restores them after the last server has stopped.
type Process struct {
	gates    featuregate.MutableVersionedFeatureGate
	versions func() basecompatibility.MutableEffectiveVersion
	// apply gives the gates to libraries that don't read the gates themselves.
	apply func(featuregate.FeatureGate)

	mu      sync.Mutex
	servers int
	// now has the settings of the running servers. before has the settings of the libraries before the first server
	// started.
	now, before settings
	// changed has the gates that the method change has set, with their new values.
	changed map[string]bool
}

// New returns the Process that guards the feature gates and versions of the libraries. A process must have only one.
func New() *Process {
	return &Process{
		gates: utilfeature.DefaultMutableFeatureGate,
		apply: metricsfeatures.ApplyFeatureGates,
		versions: func() basecompatibility.MutableEffectiveVersion {
			versions, _ := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(ComponentName).(basecompatibility.MutableEffectiveVersion)
			return versions
		},
	}
}

// settings are versions and gates.
type settings struct {
	emulated, compatible *version.Version
	on                   map[featuregate.Feature]bool
	// given are the gates that flags or options name explicitly.
	given map[string]bool
}

func settingsOf(gates featuregate.MutableVersionedFeatureGate, versions basecompatibility.EffectiveVersion) settings {
	s := settings{versions.EmulationVersion(), versions.MinCompatibilityVersion(), map[featuregate.Feature]bool{}, map[string]bool{}}
	// A call of GetAll doesn't count as a use of the gates. After a use, the library would warn of each change.
	for name, spec := range gates.GetAll() {
		s.on[name] = spec.Default
	}
	for pair := range strings.SplitSeq(fmt.Sprint(gates), ",") {
		name, value, set := strings.Cut(pair, "=")
		if !set {
			continue
		}
		s.on[featuregate.Feature(name)] = value == "true"
		if gates.ExplicitlySet(featuregate.Feature(name)) {
			s.given[name] = value == "true"
		}
	}
	for _, stage := range []featuregate.Feature{"AllAlpha", "AllBeta"} {
		delete(s.on, stage) // AllAlpha and AllBeta stand for other gates of the list
	}
	return s
}

// newGates returns the gates of one server: the gates of the libraries before the first server, and kube-apiserver's.
func (p *Process) newGates() featuregate.MutableVersionedFeatureGate {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.before
	if p.servers == 0 {
		before = settingsOf(p.gates, p.versions())
	}
	gates := p.gates.DeepCopyAndReset()
	utilruntime.Must(features.AddTo(gates)) // the gates are constant, and the tests add them
	// The libraries' gates have accepted the same values, so there can't be an error.
	utilruntime.Must(gates.SetEmulationVersionAndMinCompatibilityVersion(before.emulated, before.compatible))
	if dependencies := p.gates.Dependencies(); len(dependencies) > 0 {
		utilruntime.Must(gates.AddDependencies(dependencies))
	}
	if len(before.given) > 0 {
		utilruntime.Must(gates.SetFromMap(before.given))
	}
	return gates
}

// enter gives the process the settings of a server. If running servers have other settings, it returns an error with
// the differences. Without an error, the caller must call leave when the server has stopped.
func (p *Process) enter(wanted settings) (leave func() error, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.servers > 0 {
		if theirs, own := p.now.differences(wanted); len(own) > 0 {
			return nil, fmt.Errorf("feature gates and --emulated-version apply to the whole process: running servers have %s, and this server would have %s; "+
				"stop those servers first, or run this server in another process: the tests of another package run in another process", strings.Join(theirs, ","), strings.Join(own, ","))
		}
	} else {
		if err := p.change(wanted); err != nil {
			return nil, errors.Join(err, p.restore())
		}
		p.apply(p.gates)
	}
	p.servers++
	return sync.OnceValue(p.leave), nil
}

// leave restores the libraries' own settings after the last server has left.
func (p *Process) leave() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.servers--
	if p.servers > 0 {
		return nil
	}
	return p.restore()
}

// change gives the libraries the versions and gates of a server. It leaves out gates that the libraries don't have.
func (p *Process) change(wanted settings) error {
	p.before = settingsOf(p.gates, p.versions())
	p.now = settings{emulated: wanted.emulated, compatible: wanted.compatible, on: map[featuregate.Feature]bool{}}
	is := p.before
	if !p.now.sameVersions(p.before) {
		if err := p.setVersions(p.now); err != nil {
			return err
		}
		is = settingsOf(p.gates, p.versions())
	}
	p.changed = map[string]bool{}
	for name, on := range is.on {
		p.now.on[name] = wanted.on[name]
		if on != wanted.on[name] {
			p.changed[string(name)] = wanted.on[name]
		}
	}
	if len(p.changed) == 0 {
		return nil
	}
	return p.gates.SetFromMap(p.changed)
}

// restore undoes the method change: it gives the libraries their earlier gates and versions.
func (p *Process) restore() error {
	for name := range p.changed {
		if err := p.gates.ResetFeatureValueToDefault(featuregate.Feature(name)); err != nil {
			return err
		}
	}
	if !p.now.sameVersions(p.before) {
		if err := p.setVersions(p.before); err != nil {
			return err
		}
	}
	if len(p.before.given) == 0 {
		return nil
	}
	return p.gates.SetFromMap(p.before.given)
}

func (p *Process) setVersions(s settings) error {
	versions := p.versions()
	versions.SetEmulationVersion(s.emulated)
	versions.SetMinCompatibilityVersion(s.compatible)
	if gates, ok := p.gates.(featuregate.MutableVersionedFeatureGateWithLogger); ok {
		// Without a logger, the library doesn't warn that gates change after their use. The warnings would be wrong, because
		// no server uses the gates at this moment.
		return gates.SetEmulationVersionAndMinCompatibilityVersionWithLogger(klog.Logger{}, s.emulated, s.compatible)
	}
	return p.gates.SetEmulationVersionAndMinCompatibilityVersion(s.emulated, s.compatible)
}

func (s settings) sameVersions(other settings) bool {
	return s.emulated.EqualTo(other.emulated) && s.compatible.EqualTo(other.compatible)
}

// differences returns the versions that differ between two settings, with both values. If the versions are equal, it
// returns the gates that differ.
func (s settings) differences(others settings) (own, theirs []string) {
	compare := func(name string, mine, other any) {
		if mine != other {
			own, theirs = append(own, fmt.Sprintf("%s=%v", name, mine)), append(theirs, fmt.Sprintf("%s=%v", name, other))
		}
	}
	compare("--emulated-version", s.emulated.String(), others.emulated.String())
	compare("--min-compatibility-version", s.compatible.String(), others.compatible.String())
	if len(own) > 0 {
		return own, theirs
	}
	for _, name := range slices.Sorted(maps.Keys(s.on)) {
		if other, known := others.on[name]; known {
			compare(string(name), s.on[name], other)
		}
	}
	return own, theirs
}
