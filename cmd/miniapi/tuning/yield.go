package tuning

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// turns is the number of times that a call of yield lets other goroutines run.
	turns = 2
	// tooLong is the duration of a yield that starts a pause. A yield lasts as long as all runnable goroutines run, each of
	// them for 10 ms at most.
	tooLong = 5 * time.Millisecond
	// firstPause is the first pause. Each further yield that takes too long doubles the pause, up to lastPause.
	firstPause, lastPause = time.Second, time.Minute
)

// courtesy lets other goroutines run before a response or event is sent, so that their responses and events go in the same
// write. While goroutines compute for long, courtesy pauses: sending would wait for them.
type courtesy struct {
	began time.Time
	// until is the end of the pause, in nanoseconds since began.
	until atomic.Int64

	mu    sync.Mutex
	pause time.Duration // the last pause, or 0 if the last yield was short
}

func newCourtesy() *courtesy { return &courtesy{began: time.Now()} }

// yield lets other goroutines run, except in a pause.
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

// took records the time of a yield. Of yields at the same time, the first to end counts.
func (c *courtesy) took(before, after time.Duration) {
	long := after-before > tooLong
	if !long && c.until.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case before < time.Duration(c.until.Load()): // began before another yield started the pause
	case long:
		c.pause = min(max(2*c.pause, firstPause), lastPause)
		c.until.Store(int64(after + c.pause))
	default:
		c.pause = 0
		c.until.Store(0)
	}
}
