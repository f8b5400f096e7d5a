package main

import "runtime/debug"

// gcPercent lets the heap grow by half, not to twice its size, before it is collected:
// a server on a developer's machine is idle most of the time, and small then.
const gcPercent = 50

// tuneMemory trades a little of a busy server's time for an idle one's memory, unless
// the environment (GOGC) says otherwise.
func tuneMemory(environ func(string) string) {
	if environ("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// releaseMemory gives back what only the start needed.
func releaseMemory() { debug.FreeOSMemory() }
