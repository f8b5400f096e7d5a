package storage

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// stopClock is the real clock, except that whoever sleeps on After wakes up when it is stopped, and
// finds that the time is over. A watch cache leaves a goroutine asleep for 3 seconds behind each
// read that had to wait, and a read that waits is woken by that goroutine alone.
type stopClock struct {
	clock.RealClock

	mu      sync.Mutex
	stopped bool
	pending map[chan time.Time]*time.Timer
}

var _ clock.WithTicker = (*stopClock)(nil)

func newStopClock() *stopClock { return &stopClock{pending: map[chan time.Time]*time.Timer{}} }

// After is like time.After, but no longer than until stop.
func (c *stopClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		d = 0
	}
	woken := make(chan time.Time, 1)
	c.pending[woken] = time.AfterFunc(d, func() { c.wake(woken) })
	return woken
}

// patience is longer than anybody waits. It is no longer than that because a watch cache counts
// the seconds, one by one.
const patience = time.Hour

// Since is like time.Since until stop, and then longer than anybody waits.
func (c *stopClock) Since(t time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := c.RealClock.Since(t)
	if c.stopped {
		since += patience
	}
	return since
}

func (c *stopClock) wake(sleeper chan time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, asleep := c.pending[sleeper]; asleep {
		delete(c.pending, sleeper)
		sleeper <- c.Now()
	}
}

func (c *stopClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	for _, timer := range c.pending {
		timer.Reset(0)
	}
}
