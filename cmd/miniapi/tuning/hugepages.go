package tuning

const (
	// largeHeap is the size of the live objects from which on the heap gets huge pages. In a smaller heap, too much of a
	// huge page stays unused.
	largeHeap = 256 << 20
	// hugeGrowth is the growth of a large heap after which its new pages become huge too.
	hugeGrowth = 64 << 20
)

// hugePages lets a large heap have huge pages. The collector marks objects all over the heap. With 4 kB pages, the processor
// looks for the place of most of them in memory: with 20,000 pods, huge pages save a seventh of all processor time.
type hugePages struct {
	upTo uint64 // the size of the live objects when the heap last got huge pages, or 0
}

// follow gives huge pages to a heap that has live bytes of objects, if the heap is large and has grown. It takes the advice
// back when most of the objects are gone, so that a small object doesn't take a whole huge page.
func (h *hugePages) follow(live uint64) {
	switch {
	case live >= largeHeap && live >= h.upTo+hugeGrowth:
		h.upTo = live
		adviseHugePages()
	case live < largeHeap/2 && h.upTo > 0:
		h.upTo = 0
		withdrawHugePages()
	}
}
