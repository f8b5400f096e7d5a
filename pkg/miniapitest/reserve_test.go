package miniapitest

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

func TestReserveHeap(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var once atomic.Bool
	before := heap()
	const some = firstReserve / 2 // what else the process does to its heap is much less
	release := reserveHeap(&once)
	if got := heap(); got < before+some {
		t.Errorf("while a first server starts: want %d bytes more in a heap of %d, got %d", firstReserve, before, got)
	}
	release()
	if got := heap(); got >= before+some {
		t.Errorf("after its start: want none of the reserve left, got %d bytes of heap, %d before", got, before)
	}
	defer reserveHeap(&once)()
	if got := heap(); got >= before+some {
		t.Errorf("while a second server starts: want no reserve, got %d bytes of heap, %d before", got, before)
	}
}

// What isn't touched costs neither memory nor the time to clear it, whatever the heap has been used for.
func TestReserveIsNotTouched(t *testing.T) {
	garbage := make([]byte, 2*firstReserve)
	for i := range garbage {
		garbage[i] = 1
	}
	runtime.KeepAlive(garbage)
	debug.FreeOSMemory()
	before := resident(t)
	var once atomic.Bool
	defer reserveHeap(&once)()
	if got := resident(t); got >= before+firstReserve/2 {
		t.Errorf("want a reserve of %d bytes that takes no memory, got %d bytes resident, %d before", firstReserve, got, before)
	}
}

// resident returns how much memory the process has, in bytes.
func resident(t *testing.T) int {
	t.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("only Linux tells: %v", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
