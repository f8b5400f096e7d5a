package aggregation

import (
	"context"
	"sync"
)

// checks stops the checks of other servers while a snapshot is restored. A check writes the status of an APIService,
// and the restore must not mix with writes.
type checks struct {
	// The method hold locks both mutexes until release is called. The mutex holding makes a second call of hold wait.
	// Each check locks the mutex running for reading, so hold waits until all checks have ended.
	holding sync.Mutex
	running sync.RWMutex
	// allowed is a context whose end interrupts the checks.
	allowed context.Context
	end     context.CancelFunc
}

func newChecks() *checks {
	c := &checks{}
	c.allow()
	return c
}

func (c *checks) allow() { c.allowed, c.end = context.WithCancel(context.Background()) }

// begin waits until every hold has been released. The returned context ends when the next call of hold interrupts the
// check. The caller must call done at the end of the check.
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

// hold interrupts the running checks, and returns when all have ended. No check begins until release is called.
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

// Hold interrupts the checks of other servers, and lets no check begin before release is called. A restore may change
// the status of APIServices and the certificates that other servers trust, so release starts a check of every server.
func (a *Aggregator) Hold() (release func()) {
	allow := a.checks.hold()
	return func() {
		allow()
		for _, r := range a.remotes.all() {
			r.checkSoon()
		}
	}
}
