package tuning

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// While the server runs, new goroutines begin with a stack that is large enough for a request.
func TestStacks(t *testing.T) {
	sample := []metrics.Sample{{Name: "/gc/stack/starting-size:bytes"}}
	startingSize := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	m := newMemory(func(string) string { return "" })
	m.settle()
	if got := startingSize(); got < averageStack/2 {
		t.Errorf("the stack of a new goroutine: want about %d bytes, got %d", averageStack, got)
	}
	m.release()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		debug.FreeOSMemory() // Go computes the initial stack size at a garbage collection
		return startingSize() < averageStack/2, nil
	})
	if err != nil {
		t.Errorf("after the end: a new goroutine's stack still has %d bytes", startingSize())
	}
}
