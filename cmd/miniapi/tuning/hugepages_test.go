package tuning

import "testing"

// A heap gets huge pages when it is large, and again for what it has grown by.
func TestHugePagesFollow(t *testing.T) {
	const mib = 1 << 20
	var h hugePages
	for _, step := range []struct {
		name, reason string
		live, want   uint64
	}{
		{"small", "too much of a huge page would stay unused", 255 * mib, 0},
		{"large", "the collector marks many objects", 256 * mib, 256 * mib},
		{"growing", "a little growth isn't worth the calls", 300 * mib, 256 * mib},
		{"grown", "the new pages get huge", 320 * mib, 320 * mib},
		{"half", "the objects may come back", 130 * mib, 320 * mib},
		{"small again", "most of the heap is unused", 127 * mib, 0},
	} {
		if h.follow(step.live); h.upTo != step.want {
			t.Errorf("%s: %s: want huge pages up to %d, got %d", step.name, step.reason, step.want, h.upTo)
		}
	}
}
