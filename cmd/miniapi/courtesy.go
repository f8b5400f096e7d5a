package main

import (
	"runtime"
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
	// until and pause are durations, the first since it began.
	until, pause atomic.Int64
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

// took notes how long others have run.
func (c *courtesy) took(before, after time.Duration) {
	if after-before <= tooLong {
		c.pause.Store(0)
		return
	}
	pause := min(max(2*time.Duration(c.pause.Load()), firstPause), lastPause)
	c.pause.Store(int64(pause))
	c.until.Store(int64(after + pause))
}
