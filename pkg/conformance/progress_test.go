package conformance

import (
	"testing"
	"time"
)

// At the beginning of a run, the estimate assumes that the target is as fast as usual. Later, the estimate depends on
// the measured durations.
func TestEstimate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		ended        int
		took         time.Duration
		least, most  time.Duration
	}{
		{"first", "one fast case hardly changes the estimate for the other cases", 1, time.Millisecond,
			20 * time.Second, 25 * time.Second},
		{"usual", "the costs are right", 50, time.Second, 12*time.Second + 500*time.Millisecond, 12*time.Second + 500*time.Millisecond},
		{"slow", "the remaining cases probably also take three times as long", 50, 3 * time.Second, 33 * time.Second, 38 * time.Second},
		{"last", "no case is left", 100, 3 * time.Second, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cases := make([]Case, 100)
			for i := range cases {
				cases[i].Cost = time.Second
			}
			m := newMeter(cases, 4, nil)
			for i := range tc.ended {
				m.done(&cases[i], Result{Took: tc.took})
			}
			if left := m.left(); left < tc.least || left > tc.most {
				t.Errorf("%s: want between %v and %v, got %v", tc.reason, tc.least, tc.most, left)
			}
		})
	}
}
