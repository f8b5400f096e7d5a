package main

import (
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestHoldStack(t *testing.T) {
	sample := []metrics.Sample{{Name: "/gc/stack/starting-size:bytes"}}
	startingSize := func() uint64 {
		debug.FreeOSMemory() // collects, which is when it is set
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := startingSize()
	m := newMemory(func(string) string { return "" })
	with := startingSize()
	m.release()
	if with < 8*before {
		t.Errorf("the stack of a new goroutine: %d bytes before, want 8 times as much with a stack held, got %d", before, with)
	}
}
