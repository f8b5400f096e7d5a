package local

import (
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// firstReserve is the size in bytes of an unused allocation that makes the heap larger while the first server of a
// process starts. Go collects garbage when the heap has doubled. Without the reserve, there are three collections while
// the heap grows. They take a tenth of the time of the start.
const firstReserve = 64 << 20

// firstReserved is true after the first server of this process has begun its start. Later servers need no reserve.
var firstReserved atomic.Bool

// reserveHeap allocates the reserve, and sets the argument once to true. It allocates nothing if once was true before,
// or if the process has a memory limit. The program never touches the reserve, so the reserve isn't resident. After
// release, the garbage collector frees it.
func reserveHeap(once *atomic.Bool) (release func()) {
	// SetMemoryLimit(-1) returns the limit without changing it.
	if once.Swap(true) || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return func() {}
	}
	var reserve strings.Builder // unlike make, Grow doesn't clear reused memory; cleared memory would be resident
	reserve.Grow(firstReserve)
	return func() { runtime.KeepAlive(&reserve) }
}
