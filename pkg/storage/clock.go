package storage

import (
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// stopClock is the real clock, except that whoever sleeps on After wakes up soon when it is hurried, at once when
// it is stopped, and finds that the time is over. A watch cache leaves a goroutine asleep for 3 seconds behind each
// read that had to wait, and a read that waits is woken by that goroutine alone.
type stopClock struct {
	clock.RealClock

	mu      sync.Mutex
	limit   time.Duration // how long anybody sleeps
	pending map[chan time.Time]*time.Timer
}

var _ clock.WithTicker = (*stopClock)(nil)

func newStopClock() *stopClock {
	return &stopClock{limit: math.MaxInt64, pending: map[chan time.Time]*time.Timer{}}
}

// After is like time.After, but no longer than the limit.
func (c *stopClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	woken := make(chan time.Time, 1)
	c.pending[woken] = time.AfterFunc(min(d, c.limit), func() { c.wake(woken) })
	return woken
}

// patience is longer than anybody waits. It is no longer than that because a watch cache counts
// the seconds, one by one.
const patience = time.Hour

// Since is like time.Since until the limit, and then longer than anybody waits.
func (c *stopClock) Since(t time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := c.RealClock.Since(t)
	if since >= c.limit {
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

// hurry lets nobody sleep for longer than the limit from now on.
func (c *stopClock) hurry(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = limit
	for _, timer := range c.pending {
		timer.Reset(limit)
	}
}

func (c *stopClock) stop() { c.hurry(0) }
