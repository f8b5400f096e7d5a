package storage

import (
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// stopClock is the clock of the watch caches. It shortens their sleeps when the server stops.
//
// A read that waits for a resource version in a watch cache ends after 3 seconds, when a goroutine that sleeps on
// After wakes the read. hurry wakes such goroutines soon, and stop wakes them at once. After that, the method Since
// returns a long time, so that the read ends. A context would be simpler, but the library's wait
// (watchCache.waitUntilFreshLocked) heeds none and depends on its clock alone: kubernetes/kubernetes#116024 gave a context
// only to the wait until a cache is ready.
type stopClock struct {
	clock.RealClock

	mu      sync.Mutex
	limit   time.Duration // the longest time that a goroutine may sleep
	pending map[chan time.Time]*time.Timer
}

var _ clock.WithTicker = (*stopClock)(nil)

func newStopClock() *stopClock {
	return &stopClock{limit: math.MaxInt64, pending: map[chan time.Time]*time.Timer{}}
}

// After is like time.After, but never waits longer than the limit that hurry or stop has set.
func (c *stopClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	woken := make(chan time.Time, 1)
	c.pending[woken] = time.AfterFunc(min(d, c.limit), func() { c.wake(woken) })
	return woken
}

// patience is longer than any time for which a watch cache waits. It is not longer than an hour, because a watch
// cache loops over the seconds of the duration.
const patience = time.Hour

// Since is like time.Since as long as the duration is below the limit that hurry or stop has set. It adds patience
// to a longer duration, so that the caller ends its wait.
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

// hurry limits all sleeps, even sleeps that have begun.
func (c *stopClock) hurry(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = limit
	for _, timer := range c.pending {
		timer.Reset(limit)
	}
}

func (c *stopClock) stop() { c.hurry(0) }
