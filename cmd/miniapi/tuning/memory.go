package tuning

import (
	"runtime"
	"strings"
	"time"
)

const (
	// reserveSize is the size of an unused allocation that makes the heap larger. Go collects garbage when the heap has
	// doubled. Without the reserve, a server with few objects collects after every few requests. These collections take
	// a sixth of the processor time with 32 clients, and a quarter of the processor time of a start.
	reserveSize = 32 << 20
	// averageStack is the average stack size of the goroutines of a ready server. holdStacks brings the average to this
	// size. Go gives a new goroutine a stack of the average size, rounded up to a power of two. Without holdStacks, the
	// average is small, because the goroutines of an idle server use almost no stack. Each goroutine of a request would
	// then grow its stack three times, which takes a tenth of the time of a small request.
	averageStack = 20 << 10
)

// memory allocates memory that the program never uses. The size of this memory influences Go's garbage collector. The
// memory isn't resident, because the program never writes to it.
type memory struct {
	// reserve makes the heap larger: see reserveSize.
	reserve  strings.Builder
	released chan struct{}
	// collector is nil if the environment sets GOGC.
	collector *collector
}

// newMemory allocates the reserve. If the environment sets GOGC, the user has chosen the frequency of collections, and
// there is neither a reserve nor a collector.
func newMemory(environ func(string) string) *memory {
	m := &memory{released: make(chan struct{})}
	if environ("GOGC") == "" {
		m.collector = newCollector()
		m.reserve.Grow(reserveSize) // unlike the function make, Grow doesn't clear the memory, so the memory isn't resident
	}
	return m
}

// settle must be called when the server is ready. It starts goroutines with large stacks (see holdStacks), and gives
// back the memory that only the start needed. It also starts a goroutine that gives back memory whenever the server is
// idle.
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

// holdStacks starts goroutines with large stacks. Their number makes the average stack size averageStack, if the other
// goroutines use no stack.
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

// holdStack calls hold while a frame of the type frame is on the stack. The call of use reserves the frame, but never
// happens because use is nil. So the frame is never written, and isn't resident.
//
//go:noinline
func holdStack(hold func(), use func(frame)) {
	hold()
	if use != nil {
		use(frame{})
	}
}
