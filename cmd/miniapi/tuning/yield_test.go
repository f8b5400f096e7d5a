package tuning

import (
	"testing"
	"time"
)

// A yield that takes too long starts a pause, and the next such yield a longer pause.
func TestCourtesy(t *testing.T) {
	t.Parallel()
	const long = 2 * tooLong
	tests := []struct {
		name, reason string
		turns        []time.Duration // the times of yields
		want         time.Duration   // the pause after them
	}{
		{"short", "the others only had something to send", []time.Duration{tooLong, time.Microsecond}, 0},
		{"long", "a goroutine computes", []time.Duration{long}, firstPause},
		{"long again", "a goroutine computes for long", []time.Duration{long, long, long}, 4 * firstPause},
		{"long for ever", "yielding is tried again once a minute", []time.Duration{long, long, long, long, long, long, long, long}, lastPause},
		{"short again", "the computation is over", []time.Duration{long, long, time.Microsecond, long}, firstPause},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCourtesy()
			now := time.Hour // more than the test takes
			for _, turn := range test.turns {
				now = max(now, time.Duration(c.until.Load()))
				c.took(now, now+turn)
				now += turn
			}
			if got := max(0, time.Duration(c.until.Load())-now); got != test.want {
				t.Errorf("want a pause of %v because %s, got %v", test.want, test.reason, got)
			}
			c.took(now-long, now) // overlaps with the last
			c.yield()
			if got := max(0, time.Duration(c.until.Load())-now); test.want > 0 && got != test.want {
				t.Errorf("in a pause: want no turn, got a pause of %v", got)
			}
		})
	}
}
