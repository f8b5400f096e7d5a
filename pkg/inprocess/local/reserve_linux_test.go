package local

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// The allocation of reserveHeap takes no resident memory, even if the heap was used before, because the allocated
// memory isn't cleared.
func TestReserveIsNotTouched(t *testing.T) {
	garbage := make([]byte, 2*firstReserve)
	for i := 0; i < len(garbage); i += os.Getpagesize() {
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

// resident returns the resident memory of the process, in bytes.
func resident(t *testing.T) int {
	t.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
