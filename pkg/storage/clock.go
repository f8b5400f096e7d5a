package storage

import (
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// stopClock is the real clock with a limit for sleepers. hurry wakes goroutines that sleep on After soon, stop wakes
// them at once, and Since tells them that their time is over. A watch cache leaves a goroutine asleep for 3 seconds
// after each read that had to wait, and only that goroutine wakes such a read.
type stopClock struct {
	clock.RealClock

	mu      sync.Mutex
	limit   time.Duration // the longest sleep
	pending map[chan time.Time]*time.Timer
}

var _ clock.WithTicker = (*stopClock)(nil)

func newStopClock() *stopClock {
	return &stopClock{limit: math.MaxInt64, pending: map[chan time.Time]*time.Timer{}}
}

// After is like time.After, but waits no longer than the limit.
func (c *stopClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	woken := make(chan time.Time, 1)
	c.pending[woken] = time.AfterFunc(min(d, c.limit), func() { c.wake(woken) })
	return woken
}

// patience is longer than any wait. It must not be much longer: a watch cache counts the seconds one by one.
const patience = time.Hour

// Since is like time.Since up to the limit. Beyond the limit it returns a duration longer than any wait.
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

// hurry limits all sleeps from now on.
func (c *stopClock) hurry(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = limit
	for _, timer := range c.pending {
		timer.Reset(limit)
	}
}

func (c *stopClock) stop() { c.hurry(0) }
