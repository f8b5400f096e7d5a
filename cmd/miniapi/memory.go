package main

import "runtime/debug"

// reserveSize is how much more than its objects the heap may hold before garbage is collected.
// At Go's default alone, a server of few objects would collect after every few requests, which is
// a sixth of the work of its start and of its requests.
const reserveSize = 32 << 20

// memory is what the process does for memory, and with it.
type memory struct {
	// reserve is never touched, and so never resident; to the collector it is a part of the heap.
	reserve []byte
}

// newMemory makes the reserve, unless the environment (GOGC) says how much garbage there may be.
func newMemory(environ func(string) string) *memory {
	if environ("GOGC") != "" {
		return &memory{}
	}
	return &memory{reserve: make([]byte, reserveSize)}
}

// settle is for when the server is ready: it gives back what only the start needed, of the heap and
// of the program's own pages.
func (m *memory) settle() {
	debug.FreeOSMemory()
	dropProgramPages()
}
