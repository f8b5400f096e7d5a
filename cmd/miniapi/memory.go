package main

import (
	"runtime"
	"strings"
	"time"
)

const (
	// reserveSize is how much more than its objects the heap may hold before garbage is collected.
	// At Go's default alone, a server of few objects would collect after every few requests, which is
	// a sixth of the work of its start and of its requests.
	reserveSize = 32 << 20
	// averageStack is what the goroutines of a server that is ready use of stack on average, with
	// those that hold some. Go starts goroutines with the average, rounded up to a power of two. An
	// idle server's use next to nothing, and those of a request would have to grow their stacks three
	// times each, which is a tenth of its work.
	averageStack = 20 << 10
)

// memory is what the process does for memory, and with it.
type memory struct {
	// reserve is never touched, and so never resident; to the collector it is a part of the heap.
	reserve  strings.Builder
	released chan struct{}
}

// newMemory makes the reserve, unless the environment (GOGC) says how much garbage there may be.
func newMemory(environ func(string) string) *memory {
	m := &memory{released: make(chan struct{})}
	if environ("GOGC") == "" {
		m.reserve.Grow(reserveSize) // where make might clear it
	}
	return m
}

// settle is for when the server is ready: it holds stack for as many goroutines as there are, and
// gives back what only the start needed, and later what only requests did.
func (m *memory) settle() {
	m.holdStacks(runtime.NumGoroutine())
	giveBack()
	idle := idleMemory{need: residentMemory()}
	go func() {
		ticker := time.NewTicker(useInterval)
		defer ticker.Stop()
		m.giveBackWhenIdle(idle, ticker.C)
	}()
}

// holdStacks holds as much stack as makes the average for goroutines that use none.
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

// release gives back what is held.
func (m *memory) release() {
	close(m.released)
	runtime.KeepAlive(m)
}

type frame [1 << 20]byte

// holdStack calls hold with as much stack in use as a frame has. It is never touched, and so never
// resident: it is there to pass a frame to use, which is nil.
//
//go:noinline
func holdStack(hold func(), use func(frame)) {
	hold()
	if use != nil {
		use(frame{})
	}
}
