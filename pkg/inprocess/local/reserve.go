package local

import (
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// firstReserve is added to the size of the heap at which Go collects garbage, in bytes, while a process's first server
// starts. Without it, three collections of a growing heap would take a tenth of the start.
const firstReserve = 64 << 20

// firstReserved is true when a server of this process has had the reserve. Later servers start with a heap that is
// collected less often.
var firstReserved atomic.Bool

// reserveHeap makes the reserve, unless once is set already or the process limits its memory. The reserve is never
// touched, and so never resident. After release, the collector frees it.
func reserveHeap(once *atomic.Bool) (release func()) {
	if once.Swap(true) || debug.SetMemoryLimit(-1) != math.MaxInt64 { // -1 returns the limit
		return func() {}
	}
	var reserve strings.Builder // unlike make, Grow never clears memory that was used before, which would touch it
	reserve.Grow(firstReserve)
	return func() { runtime.KeepAlive(&reserve) }
}
