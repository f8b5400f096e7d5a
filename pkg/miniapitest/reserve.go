package miniapitest

import (
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// firstReserve is how much more than its objects the heap holds while a process's first server
// starts, in bytes. Garbage would be collected three times meanwhile, of a heap that grows: a tenth of
// the time that it takes.
const firstReserve = 64 << 20

// firstReserved says that a server of this process has had the reserve: later ones find a heap that
// is collected less often.
var firstReserved atomic.Bool

// reserveHeap makes the reserve, unless once says that it has been made, or the process limits its
// memory. It is never touched, and so never resident, and free for the collector after release.
func reserveHeap(once *atomic.Bool) (release func()) {
	if once.Swap(true) || debug.SetMemoryLimit(-1) != math.MaxInt64 { // -1 only asks
		return func() {}
	}
	var reserve strings.Builder // what make returns is cleared, and so touched, unless it is new to the process
	reserve.Grow(firstReserve)
	return func() { runtime.KeepAlive(&reserve) }
}
