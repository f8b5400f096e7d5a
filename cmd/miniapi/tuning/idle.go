package tuning

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// checkInterval is the time between two checks of the memory in use.
	checkInterval = 5 * time.Second
	// idleAllocation is more than an idle server allocates in that time, and less than any client makes it allocate.
	idleAllocation = 2 << 20
	// worthGivingBack is the least growth of resident memory that is given back. Giving memory back takes time, and so
	// does touching it again. If a quarter of the memory in need is more, that is the least.
	worthGivingBack = 16 << 20
)

// memoryUse is the resident memory of the process and the total of its allocations, in bytes.
type memoryUse struct{ resident, allocated uint64 }

func readMemoryUse() memoryUse {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return memoryUse{resident: residentMemory(), allocated: sample[0].Value.Uint64()}
}

// heldByGo returns the memory that Go has taken from the system and not given back, in bytes.
func heldByGo() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// idleMemory decides when an idle process gives memory back that only requests needed. Go keeps twice the heap until the
// next collection: the OpenAPI documents, which the first kubectl apply requests, would take 130 MB for good.
type idleMemory struct {
	last memoryUse // at the last check
	need uint64    // resident memory after the last time that memory was given back
}

// due reports whether to give memory back now.
func (i *idleMemory) due(now memoryUse) bool {
	idle := now.allocated-i.last.allocated < idleAllocation
	i.last = now
	return idle && now.resident > i.need+max(worthGivingBack, i.need/4)
}

// giveBackWhenIdle gives memory back when a check finds the process idle after use, until m is released.
func (m *memory) giveBackWhenIdle(idle idleMemory, checks <-chan time.Time) {
	for {
		select {
		case <-checks:
		case <-m.released:
			return
		}
		if idle.due(readMemoryUse()) {
			giveBack()
			idle.need = residentMemory()
		}
	}
}

// giveBack gives back free memory of the heap, and the pages of the program's own file.
func giveBack() {
	debug.FreeOSMemory()
	dropProgramPages()
}
