package main

import (
	"testing"
	"time"
)

// Where others take long, they aren't let run first for a while, and longer each time.
func TestCourtesy(t *testing.T) {
	t.Parallel()
	const long = 2 * tooLong
	tests := []struct {
		name, reason string
		turns        []time.Duration // how long they have taken
		want         time.Duration   // how long there are none
	}{
		{"short", "that is what it is for", []time.Duration{tooLong, time.Microsecond}, 0},
		{"long", "somebody computes", []time.Duration{long}, firstPause},
		{"long again", "somebody computes for long", []time.Duration{long, long, long}, 4 * firstPause},
		{"long for ever", "it is tried again now and then", []time.Duration{long, long, long, long, long, long, long, long}, lastPause},
		{"short again", "the computation is over", []time.Duration{long, long, time.Microsecond, long}, firstPause},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCourtesy()
			now := time.Hour // the test itself takes less
			for _, turn := range test.turns {
				now = max(now, time.Duration(c.until.Load()))
				c.took(now, now+turn)
				now += turn
			}
			if got := max(0, time.Duration(c.until.Load())-now); got != test.want {
				t.Errorf("want a pause of %v because %s, got %v", test.want, test.reason, got)
			}
			c.took(now-long, now) // at the same time as the last
			c.yield()
			if got := max(0, time.Duration(c.until.Load())-now); test.want > 0 && got != test.want {
				t.Errorf("in a pause: want no turn, got a pause of %v", got)
			}
		})
	}
}
