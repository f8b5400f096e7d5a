package main

import "runtime/debug"

// startGCPercent is how far the heap may grow during a start, in which collecting
// garbage at the default would be a sixth of the work.
const startGCPercent = 400

// hurry lets the start of a server take memory for speed, unless the environment (GOGC)
// says otherwise. The function that it returns is for when the server is ready: it gives
// back what only the start needed, of the heap and of the program's own pages.
func hurry(environ func(string) string) (settle func()) {
	restore := func() {}
	if environ("GOGC") == "" {
		percent := debug.SetGCPercent(startGCPercent)
		restore = func() { debug.SetGCPercent(percent) }
	}
	return func() {
		restore()
		debug.FreeOSMemory()
		dropProgramPages()
	}
}
