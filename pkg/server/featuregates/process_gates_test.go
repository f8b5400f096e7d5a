package featuregates

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
)

// newProcess returns a Process with three made-up gates for Kubernetes 1.37: Colours is new in 1.36, Shapes is on by
// default since 1.36, and Settled is locked in 1.37.
func newProcess(t *testing.T) *Process {
	t.Helper()
	gates := featuregate.NewVersionedFeatureGate(version.MustParse("1.37"))
	if err := gates.AddVersioned(map[featuregate.Feature]featuregate.VersionedSpecs{
		"Colours": {{Version: version.MustParse("1.36"), PreRelease: featuregate.Alpha}},
		"Shapes": {
			{Version: version.MustParse("1.34"), PreRelease: featuregate.Alpha},
			{Version: version.MustParse("1.36"), PreRelease: featuregate.Beta, Default: true},
		},
		"Settled": {
			{Version: version.MustParse("1.34"), PreRelease: featuregate.Beta, Default: true},
			{Version: version.MustParse("1.37"), PreRelease: featuregate.GA, Default: true, LockToDefault: true},
		},
	}); err != nil {
		t.Fatal(err)
	}
	versions := basecompatibility.NewEffectiveVersionFromString("1.37", "1.34", "1.34")
	return &Process{
		gates:    gates,
		apply:    func(featuregate.FeatureGate) {},
		versions: func() basecompatibility.MutableEffectiveVersion { return versions },
	}
}

// wants has the flags and options of a server.
type wants struct {
	emulated string
	gates    map[string]bool
}

// enter does the steps of a server's start that concern gates and versions.
func (w wants) enter(p *Process) (leave func() error, err error) {
	versions := basecompatibility.NewEffectiveVersionFromString("1.37", "1.34", "1.34")
	if w.emulated != "" {
		versions.SetEmulationVersion(version.MustParse(w.emulated))
	}
	g := Globals{process: p, ComponentGlobalsRegistry: basecompatibility.NewComponentGlobalsRegistry(), gates: p.newGates(), versions: versions}
	if err := g.Register(ComponentName, versions, g.gates); err != nil {
		return nil, err
	}
	if err := g.Choose(w.gates); err != nil {
		return nil, err
	}
	return g.Enter()
}

// Servers that run at the same time must have the same gates and versions. A later server with other gates or versions
// gets an error. After the last server has stopped, the libraries have their own settings again.
func TestSharedProcess(t *testing.T) {
	t.Parallel()
	on, off := wants{gates: map[string]bool{"Colours": true}}, wants{gates: map[string]bool{"Colours": false}}
	older := wants{emulated: "1.35"}
	tests := []struct {
		name, reason    string
		process         map[string]bool
		first, second   wants
		err             string
		colours, shapes bool // the values of two gates while the first server runs
	}{
		{name: "alike", reason: "both servers have the same gates", first: on, second: on, colours: true, shapes: true},
		{name: "defaults", reason: "most servers set no gate", shapes: true},
		{name: "default, set or not", reason: "a gate that is set to its default equals a gate that isn't set", second: off, shapes: true},
		{name: "the process's", reason: "the program may have set gates before the first server",
			process: map[string]bool{"Colours": true}, first: on, second: on, colours: true, shapes: true},
		{name: "other than the process's", reason: "a server may set a gate that the program has set to another value",
			process: map[string]bool{"Colours": true}, first: off, second: off, shapes: true},
		{name: "second differs", reason: "the second server would change the gates of the first", second: on,
			shapes: true, err: "running servers have Colours=false, and this server would have Colours=true"},
		{name: "second has none", reason: "the second server would run with a gate that it hasn't turned on", first: on,
			colours: true, shapes: true, err: "have Colours=true, and this server would have Colours=false"},
		{name: "a stage",
			reason: "AllAlpha turns the gate on, as the gate's own name does; gates of that stage depend on gates of the stage beta",
			first:  wants{gates: map[string]bool{"AllAlpha": true, "AllBeta": true}}, second: on, colours: true,
			shapes: true},
		{name: "all but one", reason: "a gate that is set by name takes precedence over AllAlpha",
			first: wants{gates: map[string]bool{"AllAlpha": true, "AllBeta": true, "Colours": false}}, second: off,
			shapes: true},
		{name: "unknown", reason: "a misspelt gate would do nothing",
			second: wants{gates: map[string]bool{"Colors": true}}, shapes: true,
			err: "unrecognized feature gate: Colors"},
		{name: "locked", reason: "the gate can't be changed", second: wants{gates: map[string]bool{"Settled": false}},
			shapes: true, err: "locked"},
		{name: "version", reason: "gates have the defaults of the emulated version", first: older, second: older},
		{name: "second is older", reason: "the second server would change the version of the first", second: older,
			shapes: true,
			err:    "have --emulated-version=1.37,--min-compatibility-version=1.36, and this server would have --emulated-version=1.35,--min-compatibility-version=1.34"},
		{name: "second is newer", reason: "the second server would run with another version", first: older,
			err: "have --emulated-version=1.35"},
		{name: "older, with a gate", reason: "a gate can be turned on before its default is on",
			first:  wants{"1.35", map[string]bool{"Shapes": true}},
			second: wants{"1.35", map[string]bool{"Shapes": true}}, shapes: true},
		{name: "older than a gate", reason: "the emulated version doesn't have the gate",
			second: wants{"1.35", map[string]bool{"Colours": true}}, shapes: true, err: "Colours"},
		{name: "older than a gate that the process has on",
			reason:  "the program has set a gate that the emulated version doesn't have",
			process: map[string]bool{"Colours": true}, second: older, colours: true, shapes: true, err: "Colours"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t)
			if err := p.gates.SetFromMap(test.process); err != nil {
				t.Fatal(err)
			}
			check := func(when string, colours, shapes bool) {
				t.Helper()
				if gotColours, gotShapes := p.gates.Enabled("Colours"), p.gates.Enabled("Shapes"); gotColours != colours || gotShapes != shapes {
					t.Errorf("%s: want Colours=%t and Shapes=%t, got %t and %t", when, colours, shapes, gotColours, gotShapes)
				}
			}
			first, err := test.first.enter(p)
			if err != nil {
				t.Fatal(err)
			}
			check("the first server runs", test.colours, test.shapes)
			second, err := test.second.enter(p)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("want %q because %s, got %v", test.err, test.reason, err)
			}
			check("the second server came", test.colours, test.shapes)
			if err == nil {
				for range 2 { // a second call must have no effect
					if err := second(); err != nil {
						t.Error(err)
					}
				}
				check("the second server went", test.colours, test.shapes)
			}
			if err := first(); err != nil {
				t.Error(err)
			}
			check("none runs", test.process["Colours"], true)
			if got := p.versions().EmulationVersion().String() + p.gates.EmulationVersion().String(); got != "1.371.37" {
				t.Errorf("want the process to be of 1.37 again, got %s", got)
			}
		})
	}
}

// Some libraries don't read the gates themselves: Process passes the gates to them by the function apply. Process
// passes the gates of the first server, and doesn't call apply again for a second server.
func TestGatesAreApplied(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	var applied []bool
	p.apply = func(gates featuregate.FeatureGate) { applied = append(applied, gates.Enabled("Colours")) }
	first := wants{gates: map[string]bool{"Colours": true}}
	for range 2 {
		leave, err := first.enter(p)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := leave(); err != nil {
				t.Error(err)
			}
		})
	}
	if diff := cmp.Diff([]bool{true}, applied); diff != "" {
		t.Errorf("the gate Colours of the first server is on, and the second server has the same gates (-want +got): %s", diff)
	}
}
