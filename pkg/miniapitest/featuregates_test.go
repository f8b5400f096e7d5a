package miniapitest

import (
	"strings"
	"testing"

	"k8s.io/component-base/featuregate"
)

// Servers that run at the same time agree on the gates, or the later one is told.
func TestSharedGates(t *testing.T) {
	t.Parallel()
	on, off := map[string]bool{"Colours": true}, map[string]bool{"Colours": false}
	tests := []struct {
		name, reason string
		first        map[string]bool
		second       map[string]bool
		err          string
	}{
		{name: "alike", reason: "both have what they want", first: on, second: on},
		{name: "defaults", reason: "most servers want nothing"},
		{name: "said and unsaid", reason: "what is said is the default", second: off},
		{name: "second differs", reason: "it would change the first", second: on, err: "servers that run in it have those of the process, and this one wants Colours=true"},
		{name: "second has none", reason: "it would run with what it doesn't want", first: on, err: "servers that run in it have Colours=true, and this one wants those of the process"},
		{name: "opposite", reason: "one of them would be wrong", first: on, second: off, err: "this one wants those of the process"},
		{name: "unknown", reason: "a misspelt gate would do nothing", second: map[string]bool{"Colors": true}, err: "feature gate Colors is unknown"},
		{name: "locked", reason: "the gate can't be changed", first: nil, second: map[string]bool{"Settled": false}, err: "Settled=false"},
		{name: "named alike", reason: "it is one", second: map[string]bool{"AllColours": false}},
		{name: "all", reason: "what it changes isn't known", second: map[string]bool{"AllAlpha": true}, err: "name each"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gate := featuregate.NewFeatureGate()
			if err := gate.Add(map[featuregate.Feature]featuregate.FeatureSpec{
				"Colours":    {PreRelease: featuregate.Beta},
				"AllColours": {PreRelease: featuregate.Beta},
				"Settled":    {PreRelease: featuregate.GA, Default: true, LockToDefault: true},
			}); err != nil {
				t.Fatal(err)
			}
			shared := &sharedGates{gate: gate}
			if err := shared.acquire(test.first); err != nil {
				t.Fatal(err)
			}
			err := shared.acquire(test.second)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("want %q because %s, got %v", test.err, test.reason, err)
			}
			if got := gate.Enabled("Colours"); got != test.first["Colours"] {
				t.Errorf("the first server has Colours=%t", got)
			}
			if err == nil {
				err = shared.release()
				if got := gate.Enabled("Colours"); err != nil || got != test.first["Colours"] {
					t.Errorf("want the gates to stay for who still runs, got Colours=%t, %v", got, err)
				}
			}
			if err := shared.release(); err != nil || gate.Enabled("Colours") {
				t.Errorf("want the gates back as they were, got Colours=%t, %v", gate.Enabled("Colours"), err)
			}
		})
	}
}

// A gate that can't be set leaves the others as they were.
func TestGatesThatCannotBeSet(t *testing.T) {
	t.Parallel()
	gate := featuregate.NewFeatureGate()
	if err := gate.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		"Colours": {PreRelease: featuregate.Beta},
		"Settled": {PreRelease: featuregate.GA, Default: true, LockToDefault: true},
	}); err != nil {
		t.Fatal(err)
	}
	shared := &sharedGates{gate: gate}
	if err := shared.acquire(map[string]bool{"Colours": true, "Settled": false}); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("want an error about the locked gate, got %v", err)
	}
	if gate.Enabled("Colours") {
		t.Error("the other gate has changed")
	}
	if err := shared.acquire(nil); err != nil {
		t.Error(err)
	}
}
