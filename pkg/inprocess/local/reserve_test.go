package local

import (
	"runtime"
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
	const some = firstReserve / 2 // other changes of the heap are much smaller than this
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
