package main

import (
	"runtime"
	"runtime/debug"
)

const (
	// reserveSize is how much more than its objects the heap may hold before garbage is collected.
	// At Go's default alone, a server of few objects would collect after every few requests, which is
	// a sixth of the work of its start and of its requests.
	reserveSize = 32 << 20
	// stackSize is how much stack one goroutine holds. Go starts goroutines with as much as those that
	// there are use on average, and an idle server's use next to nothing; a request's would grow theirs
	// three times each, which is a tenth of its work. This makes it 32 KiB for some two hundred.
	stackSize = 3 << 20
)

// memory is what the process does for memory, and with it.
type memory struct {
	// reserve is never touched, and so never resident; to the collector it is a part of the heap.
	reserve  []byte
	released chan struct{}
}

// newMemory makes the reserve, unless the environment (GOGC) says how much garbage there may be, and
// the stack. Both are there until release.
func newMemory(environ func(string) string) *memory {
	m := &memory{released: make(chan struct{})}
	if environ("GOGC") == "" {
		m.reserve = make([]byte, reserveSize)
	}
	held := make(chan struct{})
	go holdStack(stackSize, func() {
		close(held)
		<-m.released
	})
	<-held
	return m
}

// holdStack calls hold with as much stack in use as size, in bytes. What it returns only keeps the
// compiler from leaving the frames out.
func holdStack(size int, hold func()) byte {
	var frame [64 << 10]byte
	if size <= len(frame) {
		hold()
	} else {
		frame[size%len(frame)] = holdStack(size-len(frame), hold)
	}
	return frame[0]
}

func (m *memory) release() {
	close(m.released)
	runtime.KeepAlive(m)
}

// settle is for when the server is ready: it gives back what only the start needed, of the heap and
// of the program's own pages.
func (m *memory) settle() {
	debug.FreeOSMemory()
	dropProgramPages()
}
