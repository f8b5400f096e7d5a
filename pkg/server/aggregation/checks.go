package aggregation

import (
	"context"
	"sync"
)

// checks are what the servers are being asked at the moment. What is found is written, so none may be under way while
// everything that is stored is put back.
type checks struct {
	// holding is locked by who lets none begin, running by each check, and by who holds them once there is none.
	holding sync.Mutex
	running sync.RWMutex
	// allowed ends when the checks under way are to end.
	allowed context.Context
	end     context.CancelFunc
}

func newChecks() *checks {
	c := &checks{}
	c.allow()
	return c
}

func (c *checks) allow() { c.allowed, c.end = context.WithCancel(context.Background()) }

// begin waits until a check may be made, in a context that ends when it may not any more.
func (c *checks) begin(ctx context.Context) (checking context.Context, done func()) {
	c.running.RLock()
	checking, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.allowed, cancel)
	return checking, func() {
		stop()
		cancel()
		c.running.RUnlock()
	}
}

// hold returns when none is under way.
func (c *checks) hold() (release func()) {
	c.holding.Lock()
	c.end()
	c.running.Lock()
	return func() {
		c.allow()
		c.running.Unlock()
		c.holding.Unlock()
	}
}

// Hold ends what the servers are being asked, and lets nobody ask them until release is called, after which they are
// asked again: what was written of them, and whom they were told to trust, may have been put back meanwhile.
func (a *Aggregator) Hold() (release func()) {
	allow := a.checks.hold()
	return func() {
		allow()
		for _, r := range a.remotes.all() {
			r.checkSoon()
		}
	}
}
