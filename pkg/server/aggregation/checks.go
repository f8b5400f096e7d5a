package aggregation

import (
	"context"
	"sync"
)

// checks holds back the checks of other servers while a snapshot is restored: a check writes its result, so none may
// run in that time.
type checks struct {
	// holding is locked while checks are held back. Each check has running locked for reading; hold locks it for
	// writing once no check runs.
	holding sync.Mutex
	running sync.RWMutex
	// allowed ends when running checks must end.
	allowed context.Context
	end     context.CancelFunc
}

func newChecks() *checks {
	c := &checks{}
	c.allow()
	return c
}

func (c *checks) allow() { c.allowed, c.end = context.WithCancel(context.Background()) }

// begin waits until checks are allowed. The returned context ends when they no longer are.
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

// hold ends the running checks, and returns when none runs.
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

// Hold ends the checks of other servers, and lets no check begin before release is called. Then all servers are checked
// again: a restore may have changed the status of their APIServices, and the certificates that they trust.
func (a *Aggregator) Hold() (release func()) {
	allow := a.checks.hold()
	return func() {
		allow()
		for _, r := range a.remotes.all() {
			r.checkSoon()
		}
	}
}
