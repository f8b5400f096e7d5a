package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// Goroutines start with the stack that a request uses, while the server runs.
func TestStacks(t *testing.T) {
	sample := []metrics.Sample{{Name: "/gc/stack/starting-size:bytes"}}
	startingSize := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := runtime.NumGoroutine()
	m := newMemory(func(string) string { return "" })
	m.settle()
	if got := startingSize(); got < averageStack/2 {
		t.Errorf("the stack of a new goroutine: want about %d bytes, got %d", averageStack, got)
	}
	m.release()
	for range 1000 { // they are told, and end when they are next run
		if runtime.NumGoroutine() <= before {
			break
		}
		runtime.Gosched()
	}
	if debug.FreeOSMemory(); startingSize() >= averageStack/2 {
		t.Errorf("after the end: a new goroutine's stack still has %d bytes", startingSize())
	}
}
