package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// turns is how often others are let run.
	turns = 2
	// tooLong is how long that may take. It takes as long as all that can run do: 10 ms each at most.
	tooLong = 5 * time.Millisecond
	// firstPause is how long others aren't let run after it has taken too long; each time in a row it
	// is twice as long, up to lastPause.
	firstPause, lastPause = time.Second, time.Minute
)

// courtesy lets other goroutines run before answers and events are sent, so that what they have to send
// goes with them: a tenth of the work of a busy server. On an idle one nobody is waiting to run. Where
// somebody computes, sending would wait for that, so courtesy pauses then.
type courtesy struct {
	began time.Time
	// until is when it may go on, in nanoseconds since it began.
	until atomic.Int64

	mu    sync.Mutex
	pause time.Duration // the last, if it was too long the last time
}

func newCourtesy() *courtesy { return &courtesy{began: time.Now()} }

// yield lets others run, unless that has taken too long.
func (c *courtesy) yield() {
	before := time.Since(c.began)
	if before < time.Duration(c.until.Load()) {
		return
	}
	for range turns {
		runtime.Gosched()
	}
	c.took(before, time.Since(c.began))
}

// took notes how long others have run. Of turns at the same time, the first to end counts.
func (c *courtesy) took(before, after time.Duration) {
	long := after-before > tooLong
	if !long && c.until.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case before < time.Duration(c.until.Load()): // when it was not known yet
	case long:
		c.pause = min(max(2*c.pause, firstPause), lastPause)
		c.until.Store(int64(after + c.pause))
	default:
		c.pause = 0
		c.until.Store(0)
	}
}
