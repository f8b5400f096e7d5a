package reload

import (
	"sync"
	"sync/atomic"
	"testing"
)

// The function end of a replaced value is called once: when the last caller is done.
func TestCurrent(t *testing.T) {
	t.Parallel()
	var ended []string
	end := func(name string) func() { return func() { ended = append(ended, name) } }
	current := NewCurrent("first", end("first"))
	first, done := current.Use()
	_, again := current.Use()
	current.Replace("second", end("second"))
	second, doneSecond := current.Use()
	if first != "first" || second != "second" {
		t.Errorf("got %s before and %s after it was replaced", first, second)
	}
	doneSecond()
	done()
	if len(ended) != 0 {
		t.Errorf("want nothing ended that is in use or the current one, got %v", ended)
	}
	again()
	if len(ended) != 1 || ended[0] != "first" {
		t.Errorf("want the first one ended with its last user, got %v", ended)
	}
}

// A value doesn't end while a caller uses it, even if another goroutine replaces it at that moment.
func TestCurrentAtOnce(t *testing.T) {
	t.Parallel()
	type value struct{ ended atomic.Bool }
	fresh := func() (*value, func()) {
		v := &value{}
		return v, func() { v.ended.Store(true) }
	}
	current := NewCurrent(fresh())
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for range 1000 {
				v, done := current.Use()
				if v.ended.Load() {
					t.Error("a value in use has ended")
				}
				done()
			}
		})
	}
	for range 1000 {
		current.Replace(fresh())
	}
	users.Wait()
}
