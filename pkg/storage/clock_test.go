package storage

import (
	"testing"
	"testing/synctest"
	"time"
)

// Who waits for a resource version sleeps on the clock, and asks it when woken whether the time is over.
func TestStopClock(t *testing.T) {
	t.Parallel()
	const limit = 100 * time.Millisecond
	hurry := func(c *stopClock) { c.hurry(limit) }
	for _, test := range []struct {
		name, reason string
		before       func(*stopClock) // the sleep begins
		during       func(*stopClock) // a second after it has begun
		want         time.Duration
	}{
		{"undisturbed", "it is the real clock", nil, nil, 3 * time.Second},
		{"hurried while it sleeps", "what is written until now is seen within the limit", nil, hurry, time.Second + limit},
		{"hurried before", "requests that still arrive don't hold a stop up either", hurry, nil, limit},
		{"stopped while it sleeps", "nothing will be written any more", nil, (*stopClock).stop, time.Second},
		{"stopped after it was hurried", "the limit is over as soon as etcd ends", func(c *stopClock) { hurry(c); c.stop() }, nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newStopClock()
				if test.before != nil {
					test.before(c)
				}
				if test.during != nil {
					time.AfterFunc(time.Second, func() { test.during(c) })
				}
				begin := c.Now() // of the bubble's clock
				woken := (<-c.After(3 * time.Second)).Sub(begin)
				if woken != test.want {
					t.Errorf("woken after %v, want %v: %s", woken, test.want, test.reason)
				}
				if since := c.Since(begin); since < 3*time.Second {
					t.Errorf("%v have passed for who is woken, so it would sleep on with nobody to wake it: %s", since, test.reason)
				}
			})
		})
	}
}
