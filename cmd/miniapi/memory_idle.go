package main

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// useInterval is how often the use of memory is looked at.
	useInterval = 5 * time.Second
	// idleAllocation is less than what is allocated in that time by a server that is asked for
	// anything, and more than an idle one allocates.
	idleAllocation = 2 << 20
	// worthGivingBack is how much more than what was needed must be resident, and a quarter of that at
	// least: giving back takes time, and so does what is then touched again.
	worthGivingBack = 16 << 20
)

// memoryUse is what the process has of the machine's memory, and has ever allocated, in bytes.
type memoryUse struct{ resident, allocated uint64 }

func readMemoryUse() memoryUse {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return memoryUse{resident: residentMemory(), allocated: sample[0].Value.Uint64()}
}

// heldByGo is what Go hasn't given back, in bytes.
func heldByGo() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// idleMemory tells when an idle process has much that it only needed while it was in use. Go
// keeps twice the heap for as long as nothing else happens: the OpenAPI documents, which the first
// kubectl apply asks for, would take 130 MB for good.
type idleMemory struct {
	last memoryUse // at the last look
	need uint64    // what was resident after giving back
}

// due says whether to give memory back now.
func (i *idleMemory) due(now memoryUse) bool {
	idle := now.allocated-i.last.allocated < idleAllocation
	i.last = now
	return idle && now.resident > i.need+max(worthGivingBack, i.need/4)
}

// giveBackWhenIdle gives memory back whenever a look finds the process idle after use, until it is
// released.
func (m *memory) giveBackWhenIdle(idle idleMemory, looks <-chan time.Time) {
	for {
		select {
		case <-looks:
		case <-m.released:
			return
		}
		if idle.due(readMemoryUse()) {
			giveBack()
			idle.need = residentMemory()
		}
	}
}

// giveBack gives back what isn't in use, of the heap and of the program's own pages.
func giveBack() {
	debug.FreeOSMemory()
	dropProgramPages()
}
