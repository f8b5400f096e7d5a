package recorder

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// record records a request for an object with the given name and size, and ends it.
func record(r *Recorder, name string, size int) *trace.Request {
	recording := r.Begin(trace.Request{Name: name, Resource: trace.Resource{Resource: "pods"}})
	recording.Enter(&Pass{Admission: trace.Admission{Name: name, Object: []byte(`"` + strings.Repeat("x", size) + `"`)}})
	return recording.Finished()
}

func TestRecorderKeepsTheLastRequests(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, reason string
		limits       Limits
		size         int
		want         string
	}{
		{"number", "older requests are forgotten", Limits{Requests: 3}, 10, "7 8 9"},
		{"bytes", "two large requests fill the memory", Limits{Requests: 100, Bytes: 25 << 10}, 10 << 10, "8 9"},
		{"all", "nothing is forgotten below the limits", Limits{Requests: 100}, 10, "0 1 2 3 4 5 6 7 8 9"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := New(test.limits)
			for i := range 10 {
				record(r, fmt.Sprint(i), test.size)
			}
			var got []string
			for _, request := range r.Requests(Filter{}) {
				got = append(got, request.Name)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%s: want %s, got %s", test.reason, test.want, got)
			}
		})
	}
}

// A request that is larger than the limit of bytes is kept without its objects.
func TestRecorderStripsTheLargest(t *testing.T) {
	t.Parallel()
	r := New(Limits{Requests: 10, Bytes: 4 << 10})
	got := record(r, "large", 100<<10)
	if !got.Stripped || len(got.Admissions[0].Object) != 0 || len(r.Requests(Filter{})) != 1 {
		t.Errorf("want the request without its object, got %+v", got)
	}
}

// The objects of requests in flight have a limit of their own. When a request ends, its bytes no longer count
// against that limit.
func TestRecorderBoundsRequestsInFlight(t *testing.T) {
	t.Parallel()
	const bytes, requests = 64 << 10, 100
	r := New(Limits{Requests: 10, Bytes: bytes})
	object := []byte(`"` + strings.Repeat("x", 10<<10) + `"`)
	var all []*Recording
	kept := 0
	for i := range requests {
		recording := r.Begin(trace.Request{Name: fmt.Sprint(i)})
		all = append(all, recording)
		content := recording.Object(trace.Kind{Kind: "ConfigMap"}, object)
		kept += len(content)
		recording.Enter(&Pass{Admission: trace.Admission{Object: content}})
	}
	if kept == 0 || kept > bytes {
		t.Errorf("want at most %d bytes of %d requests in flight, got %d", bytes, requests, kept)
	}
	stripped := 0
	for _, recording := range all {
		if recording.Finished().Stripped {
			stripped++
		}
		if late := recording.Object(trace.Kind{Kind: "ConfigMap"}, object); late != nil {
			t.Error("an object was kept after the end of its request")
		}
	}
	if want := requests - kept/len(object); stripped != want {
		t.Errorf("want %d stripped requests, got %d", want, stripped)
	}
	if left := r.inFlight.Load(); left != 0 {
		t.Errorf("want nothing in flight, got %d bytes", left)
	}
}

// A goroutine may still work on a request when Finish ends the recording. Later updates by the goroutine are dropped.
func TestUpdatesAfterTheEndAreDropped(t *testing.T) {
	t.Parallel()
	recording := New(Limits{Requests: 1}).Begin(trace.Request{})
	recording.Finish()
	recording.Update(func(r *trace.Request) { r.Name = "late" })
	if request := recording.Finished(); request.Name != "" {
		t.Errorf("want no name, got %q", request.Name)
	}
}

func TestNoRecordingAllocatesNothing(t *testing.T) {
	ctx := t.Context()
	var off *Recorder
	allocations := testing.AllocsPerRun(100, func() {
		if off.On() || From(ctx) != nil {
			t.Error("want no recording")
		}
	})
	if allocations != 0 {
		t.Errorf("want no allocations, got %v", allocations)
	}
}

// However many requests end, and however large they are, the recorder's memory stays near its limit. The test isn't
// parallel, because it measures the heap.
func TestMemoryIsBoundedUnderAFlood(t *testing.T) {
	const limit, large, clientsAtOnce, each = 4 << 20, 100 << 10, 32, 320
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // the first collection runs finalizers, whose memory the second one frees
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	r := New(Limits{Requests: 1 << 20, Bytes: limit})
	var clients sync.WaitGroup
	for range clientsAtOnce {
		clients.Go(func() {
			for i := range each {
				recording := r.Begin(trace.Request{UserAgent: strings.Repeat("u", large*(i%3/2))})
				pass := &Pass{Admission: trace.Admission{Admitted: bytes.Repeat([]byte("y"), large*(i%2))}}
				pass.SetObjects(Encoding{Bytes: bytes.Repeat([]byte("x"), large)}, Encoding{})
				for range stepsAtOnce {
					pass.Steps = append(pass.Steps, &trace.Step{Plugin: "plugin"})
				}
				recording.Enter(pass)
				recording.Finish()
			}
		})
	}
	clients.Wait()
	if grown := int64(heap()) - int64(before); grown > 2*limit {
		t.Errorf("want at most twice the limit of %d bytes, got %d", limit, grown)
	}
	kept := r.Requests(Filter{})
	if last := kept[len(kept)-1].ID; last != clientsAtOnce*each || kept[0].ID != last-int64(len(kept))+1 {
		t.Errorf("want the last requests in order up to 10240, got %d to %d, %d in all", kept[0].ID, last, len(kept))
	}
}
