package tuning

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// checkInterval is the time between two checks of the memory in use.
	checkInterval = 5 * time.Second
	// idleAllocation is the limit below which a server counts as idle: the bytes that it allocates within
	// checkInterval. An idle server allocates less, and a server with a client more.
	idleAllocation = 2 << 20
	// worthGivingBack is the smallest amount of memory that is given back to the system: giving back takes time, and so
	// does getting memory again. For large processes, the smallest amount is a quarter of the needed memory.
	worthGivingBack = 16 << 20
)

// memoryUse is the resident memory of the process, and the sum of all its allocations so far, in bytes.
type memoryUse struct{ resident, allocated uint64 }

func readMemoryUse() memoryUse {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return memoryUse{resident: residentMemory(), allocated: sample[0].Value.Uint64()}
}

// heldByGo returns the number of bytes that the Go runtime has taken from the system and not given back.
func heldByGo() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// idleMemory decides when the process gives memory back to the system: when no client uses the server, and earlier
// requests have left unused memory. Go collects garbage when the heap has doubled, or after two minutes, and then gives
// memory back slowly. The OpenAPI documents, which the first kubectl apply requests, occupy 130 MB until then.
type idleMemory struct {
	last memoryUse // the value at the last check
	need uint64    // the resident memory after memory was last given back
}

// due reports whether the process should give memory back at this check.
func (i *idleMemory) due(now memoryUse) bool {
	idle := now.allocated-i.last.allocated < idleAllocation
	i.last = now
	return idle && now.resident > i.need+max(worthGivingBack, i.need/4)
}

// giveBackWhenIdle checks the memory in use for each value from the channel checks. It gives memory back if
// idle.due returns true, regulates the collector, and gives huge pages to a large heap. It returns when m is released.
func (m *memory) giveBackWhenIdle(idle idleMemory, checks <-chan time.Time) {
	var huge hugePages
	for {
		select {
		case <-checks:
		case <-m.released:
			return
		}
		if m.collector != nil {
			live := liveHeap()
			m.collector.regulate(live)
			huge.follow(live)
		}
		if idle.due(readMemoryUse()) {
			giveBack()
			idle.need = residentMemory()
		}
	}
}

// giveBack gives back unused memory of the heap, and the pages of the program's own file.
func giveBack() {
	debug.FreeOSMemory()
	dropProgramPages()
}
