// Package condition is the one way in which goroutines of a server wait for state that other goroutines change.
//
// A [Variable] holds the state. Update changes the state and wakes the waiting goroutines, and Wait returns when a
// predicate holds for the state. UpdateWhen waits for a predicate, and changes the state while the predicate holds.
// Neither polls: each evaluates its predicate at the call, after updates, and when its context ends.
//
// Don't use a Variable for an event that happens once and has no state, such as the end of a server: a channel or a
// context is enough for such an event. Don't use a Variable as a queue either: a goroutine that waits gets the latest
// state, and may miss earlier states.
package condition

import (
	"context"
	"fmt"
	"sync"
)

// Variable holds a state, and lets goroutines wait until the state meets a predicate. The zero value holds the zero
// value of T. A Variable must not be copied after its first use.
type Variable[T any] struct {
	mu    sync.Mutex
	state T
	// changed is closed by the next update. The channel is nil if no goroutine has begun to wait since the last update.
	changed chan struct{}
}

// New returns a variable that holds a state.
func New[T any](state T) *Variable[T] { return &Variable[T]{state: state} }

// Update changes the state, and wakes the goroutines that wait. It holds the lock of the variable while change runs, so
// change must not call the variable.
func (v *Variable[T]) Update(change func(*T)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.update(change)
}

// update changes the state under the lock.
func (v *Variable[T]) update(change func(*T)) {
	change(&v.state)
	if v.changed != nil {
		close(v.changed)
		v.changed = nil
	}
}

// Set replaces the state, and wakes the goroutines that wait.
func (v *Variable[T]) Set(state T) { v.Update(func(s *T) { *s = state }) }

// Read calls read with the state, under the lock of the variable: read must not call the variable. It must not keep
// pointers, slices or maps of the state either.
func (v *Variable[T]) Read(read func(T)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	read(v.state)
}

// Wait returns nil as soon as holds is true for the state. When ctx ends, Wait returns nil if holds is true for the
// last state, and an error otherwise. The error wraps the cause of ctx, and shows the last state. The method String
// formats the state, if the type has this method. Wait calls holds under the lock of the variable: holds must not call
// the variable. A Wait whose predicate holds at once allocates nothing.
func (v *Variable[T]) Wait(ctx context.Context, holds func(T) bool) error {
	return v.await(ctx, holds, nil)
}

// UpdateWhen waits as Wait does, and then changes the state as Update does. No other update comes between the call of
// holds that returns true and the change. If UpdateWhen returns an error, it hasn't changed the state.
func (v *Variable[T]) UpdateWhen(ctx context.Context, holds func(T) bool, change func(*T)) error {
	return v.await(ctx, holds, change)
}

// await implements Wait and UpdateWhen. The function change may be nil.
func (v *Variable[T]) await(ctx context.Context, holds func(T) bool, change func(*T)) error {
	for {
		changed := v.next(holds, change)
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return v.last(holds, change, context.Cause(ctx))
		}
	}
}

// next makes the change and returns nil if the predicate holds. Otherwise it returns the channel that the next update
// closes.
func (v *Variable[T]) next(holds func(T) bool, change func(*T)) <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.changes(holds, change) {
		return nil
	}
	if v.changed == nil {
		v.changed = make(chan struct{})
	}
	return v.changed
}

// last returns the result of a wait whose context has ended. An update and the end may have come together, so last
// evaluates the predicate once more. It formats the state under the lock, because an update may change the state
// meanwhile.
func (v *Variable[T]) last(holds func(T) bool, change func(*T), cause error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.changes(holds, change) {
		return nil
	}
	return fmt.Errorf("%w: the last state is %+v", cause, v.state)
}

// changes evaluates the predicate under the lock. If the predicate holds, changes calls change, unless it is nil.
func (v *Variable[T]) changes(holds func(T) bool, change func(*T)) bool {
	if !holds(v.state) {
		return false
	}
	if change != nil {
		v.update(change)
	}
	return true
}
