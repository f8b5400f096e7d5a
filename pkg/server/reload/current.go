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
	// users counts the users of the value; being the current value counts as one.
	users atomic.Int64
}

// NewCurrent starts with a value. It calls end when the value has been replaced and is no longer in use.
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

// Replace sets the value that [Current.Use] returns from now on.
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
