package reload

import (
	"sync"
	"sync/atomic"
)

// Current is a value that is replaced while it is in use.
type Current[T any] struct {
	mu  sync.RWMutex
	now *generation[T]
}

type generation[T any] struct {
	value T
	end   func()
	// users is the number of callers that use the value, plus one while the value is the current value.
	users atomic.Int64
}

// NewCurrent returns a Current with a first value. The function end is called when the value has been replaced and no
// caller uses it any more.
func NewCurrent[T any](value T, end func()) *Current[T] {
	c := &Current[T]{}
	c.Replace(value, end)
	return c
}

// Use returns the value. The value stays usable until the caller calls done, even if it is replaced.
func (c *Current[T]) Use() (value T, done func()) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.now.users.Add(1)
	return c.now.value, c.now.done
}

// Replace sets the value that [Current.Use] returns from now on. The function end is called when this value has been
// replaced and no caller uses it any more.
func (c *Current[T]) Replace(value T, end func()) {
	next := &generation[T]{value: value, end: end}
	next.users.Store(1)
	c.mu.Lock()
	last := c.now
	c.now = next
	c.mu.Unlock()
	if last != nil {
		last.done()
	}
}

func (g *generation[T]) done() {
	if g.users.Add(-1) == 0 {
		g.end()
	}
}
