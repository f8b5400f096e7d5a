package kubelet

import (
	"sync"
	"time"
)

// clock is the clock of the stages. The zero value shows the time. A held clock stands still until it is released, and
// then goes on from the time at which it stands.
type clock struct {
	mu     sync.Mutex
	held   bool
	at     time.Time     // while the clock is held
	behind time.Duration // what it lags behind the time, while it isn't held
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read()
}

func (c *clock) read() time.Time {
	if c.held {
		return c.at
	}
	return time.Now().Add(-c.behind)
}

func (c *clock) isHeld() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

func (c *clock) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.read()
	c.held = true
}

func (c *clock) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held {
		c.held, c.behind = false, time.Since(c.at)
	}
}

// set sets the time of a held clock.
func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}
