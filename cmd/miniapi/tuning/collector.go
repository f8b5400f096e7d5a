package tuning

import (
	"runtime/debug"
	"runtime/metrics"
)

const (
	// maxGarbage bounds the garbage of a large heap. By default, Go collects when the heap has doubled: the 700 MB of 100,000
	// pods would leave as much garbage.
	maxGarbage = 384 << 20
	// defaultPercent is Go's default of GOGC. leastPercent bounds the time for collections of a very large heap.
	defaultPercent, leastPercent = 100, 25
)

// collector decides how often Go collects garbage.
type collector struct{ percent int }

func newCollector() *collector { return &collector{defaultPercent} }

// regulate sets the frequency of collections for a heap that has live bytes of objects.
func (c *collector) regulate(live uint64) {
	if percent := percentFor(live); percent != c.percent {
		c.percent = percent
		debug.SetGCPercent(percent)
	}
}

// percentFor returns the garbage, in per cent of the live objects, after which Go should collect it.
func percentFor(live uint64) int {
	return int(min(defaultPercent, max(leastPercent, maxGarbage*100/max(live, 1))))
}

// liveHeap returns the bytes of the objects that the last collection has left.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
