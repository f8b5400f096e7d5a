package storage

import (
	"testing"
	"testing/synctest"
	"time"
)

// The methods hurry and stop end a goroutine's sleep on After early. The goroutine then calls the method Since to check
// whether it has waited long enough. Since returns a long time, so the goroutine doesn't sleep again.
func TestStopClock(t *testing.T) {
	t.Parallel()
	const limit = 100 * time.Millisecond
	hurry := func(c *stopClock) { c.hurry(limit) }
	for _, test := range []struct {
		name, reason string
		before       func(*stopClock) // called before the goroutine sleeps
		during       func(*stopClock) // called one second into the sleep
		want         time.Duration
	}{
		{"undisturbed", "stopClock works like the real clock", nil, nil, 3 * time.Second},
		{"hurried while it sleeps", "earlier writes are seen within the limit", nil, hurry, time.Second + limit},
		{"hurried before", "requests that begin after hurry must not delay a stop", hurry, nil, limit},
		{"stopped while it sleeps", "no write comes any more", nil, (*stopClock).stop, time.Second},
		{"stopped after it was hurried", "stop replaces the limit of hurry", func(c *stopClock) { hurry(c); c.stop() }, nil, 0},
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
				begin := c.Now() // the time of the synctest bubble
				woken := (<-c.After(3 * time.Second)).Sub(begin)
				if woken != test.want {
					t.Errorf("woken after %v, want %v: %s", woken, test.want, test.reason)
				}
				if since := c.Since(begin); since < 3*time.Second {
					t.Errorf("%v have passed on the clock, so a woken read would sleep again without end: %s", since, test.reason)
				}
			})
		})
	}
}
