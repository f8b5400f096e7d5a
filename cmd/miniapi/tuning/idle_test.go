package tuning

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

func TestIdleMemoryIsDue(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, test := range []struct {
		name, reason string
		need         uint64
		last, now    memoryUse
		want         bool
	}{
		{"after use", "the requests have ended", 50 * mib, memoryUse{180 * mib, 900 * mib}, memoryUse{180 * mib, 901 * mib}, true},
		{"in use", "the next request would allocate the memory again", 50 * mib, memoryUse{180 * mib, 900 * mib},
			memoryUse{180 * mib, 910 * mib}, false},
		{"first check", "the allocations before the first check are unknown", 50 * mib, memoryUse{},
			memoryUse{180 * mib, 900 * mib}, false},
		{"little", "giving back is more work than the memory is worth", 50 * mib, memoryUse{60 * mib, 900 * mib},
			memoryUse{60 * mib, 900 * mib}, false},
		{"little of much", "the work grows with the heap", 400 * mib, memoryUse{480 * mib, 900 * mib},
			memoryUse{480 * mib, 900 * mib}, false},
		{"less than before", "nothing is left to give back", 50 * mib, memoryUse{40 * mib, 900 * mib},
			memoryUse{40 * mib, 900 * mib}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			idle := idleMemory{last: test.last, need: test.need}
			if got := idle.due(test.now); got != test.want {
				t.Errorf("due: %t, want %t: %s", got, test.want, test.reason)
			}
			if idle.last != test.now {
				t.Errorf("the next check compares with %v, want %v", idle.last, test.now)
			}
		})
	}
}

// An idle process gives back the memory that requests needed. The test isn't parallel, because other tests use memory.
func TestIdleMemoryIsGivenBack(t *testing.T) {
	const used = 128 << 20
	giveBack()
	m := newMemory(func(string) string { return "" })
	idle := idleMemory{need: residentMemory()}
	checks, ended := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(ended)
		m.giveBackWhenIdle(idle, checks)
	}()
	defer func() {
		m.release()
		<-ended
	}()
	before := heldByGo() // with the race detector, a part of the resident memory is never given back
	use(used)
	if got := heldByGo(); got < before+used/2 {
		t.Fatalf("%d bytes are held, want some %d more than %d", got, used, before)
	}
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		checks <- time.Now()
		return heldByGo() < before+used/2, nil
	})
	if err != nil {
		t.Errorf("%d bytes are still held, before it was %d", heldByGo(), before)
	}
}

// use allocates memory of a size, and writes to all of it.
func use(size int) {
	b := make([]byte, size)
	for i := range b {
		b[i] = 1
	}
}
