package tuning

import (
	"runtime"
	"strings"
	"time"
)

const (
	// reserveSize is added to the size of the heap at which Go collects garbage. Without a reserve, a server with few
	// objects would collect every few requests: a sixth of the work of 32 clients, a quarter of a start.
	reserveSize = 32 << 20
	// averageStack is the average stack of a ready server's goroutines, including the held stacks. Go gives a new
	// goroutine the average, rounded up to a power of two. The goroutines of an idle server use next to nothing, and
	// each goroutine of a request would have to grow its stack three times: a tenth of a small request.
	averageStack = 20 << 10
)

// memory holds memory that is never touched, and so never resident, to influence Go's garbage collector.
type memory struct {
	// reserve counts as a part of the heap.
	reserve  strings.Builder
	released chan struct{}
}

// newMemory makes the reserve, unless GOGC in the environment sets the frequency of collections.
func newMemory(environ func(string) string) *memory {
	m := &memory{released: make(chan struct{})}
	if environ("GOGC") == "" {
		m.reserve.Grow(reserveSize) // unlike make, Grow never clears the memory, which would touch it
	}
	return m
}

// settle is called when the server is ready: it holds stacks for the goroutines that there are, gives memory back that only
// the start needed, and from then on memory that only requests needed.
func (m *memory) settle() {
	m.holdStacks(runtime.NumGoroutine())
	giveBack()
	idle := idleMemory{need: residentMemory()}
	go func() {
		ticker := time.NewTicker(checkInterval)
		defer ticker.Stop()
		m.giveBackWhenIdle(idle, ticker.C)
	}()
}

// holdStacks holds as much stack as gives the average to a number of goroutines that use none.
func (m *memory) holdStacks(goroutines int) {
	const frameSize = len(frame{})
	for range max(1, (goroutines*averageStack+frameSize/2)/frameSize) {
		held := make(chan struct{})
		go holdStack(func() {
			close(held)
			<-m.released
		}, nil)
		<-held
	}
}

// release frees the reserve and the stacks.
func (m *memory) release() {
	close(m.released)
	runtime.KeepAlive(m)
}

type frame [1 << 20]byte

// holdStack calls hold with a frame on the stack. The frame is for the call of use, which never happens because use is
// nil: the frame is never touched, and so never resident.
//
//go:noinline
func holdStack(hold func(), use func(frame)) {
	hold()
	if use != nil {
		use(frame{})
	}
}
