package informer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	"github.com/miniapi-dev/miniapi/pkg/condition"
)

// observing starts an informer of the source's config maps, which the barrier observes. The returned function stop ends
// the informer.
func observing(t *testing.T, barrier *Barrier, source *source) (informer cache.SharedIndexInformer, stop func()) {
	t.Helper()
	informer = barrier.Observe(schema.GroupResource{Resource: "configmaps"}, cache.NewSharedIndexInformer(source, &corev1.ConfigMap{}, 0, nil))
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		informer.Run(stopped)
	}()
	return informer, func() {
		close(stopped)
		<-ended
	}
}

func sourceOf(names ...string) *source {
	source := cachetesting.NewFakeControllerSource()
	for _, name := range names {
		source.Add(configMap(name, 0))
	}
	return source
}

// took returns the time for which the barrier holds a write of the object.
func took(ctx context.Context, barrier *Barrier, object *corev1.ConfigMap) time.Duration {
	start := time.Now()
	barrier.Wait(ctx, schema.GroupResource{Resource: "configmaps"}, object)
	return time.Since(start)
}

// A write doesn't wait for an informer that has stopped. It still waits for another informer of the same resource.
func TestBarrierInformerStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		barrier, source, other := NewBarrier(t.Context()), sourceOf("a"), sourceOf("a")
		_, stop := observing(t, barrier, source)
		_, stopOther := observing(t, barrier, other)
		if !cache.WaitFor(t.Context(), "", barrier.checkers()...) {
			t.Fatal("the informers did not sync")
		}
		other.Add(configMap("b", 0)) // the informer of source never gets this object, so the write waits for that informer
		time.AfterFunc(time.Second, stop)
		if got := took(t.Context(), barrier, configMap("b", 2)); got != time.Second {
			t.Errorf("the write was held for %v, want until the informer stops", got)
		}
		if got := len(barrier.informers[schema.GroupResource{Resource: "configmaps"}]); got != 1 {
			t.Errorf("%d informers are known, want the one that runs", got)
		}
		if got := took(t.Context(), barrier, configMap("c", 3)); got != barrierTimeout {
			t.Errorf("a write that the other informer doesn't see was held for %v, want %v", got, barrierTimeout)
		}
		stopOther()
		source.Broadcaster.Shutdown()
		other.Broadcaster.Shutdown()
	})
}

// Handlers can be added and removed while the informer runs.
func TestBarrierHandlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		barrier, source := NewBarrier(t.Context()), sourceOf("a")
		informer, stop := observing(t, barrier, source)
		slow := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { time.Sleep(5 * time.Second) }} //nolint:forbidigo // the handler is slow on a fake clock
		start := time.Now()
		registered, err := informer.AddEventHandler(slow)
		if err != nil {
			t.Fatal(err)
		}
		if !cache.WaitFor(t.Context(), "", barrier.checkers()...) {
			t.Fatal("the informer did not sync")
		}
		if got := time.Since(start); got < 5*time.Second {
			t.Errorf("the informer was in sync after %v, want after its handler has been called", got)
		}

		source.Add(configMap("b", 0))
		time.AfterFunc(time.Second, func() {
			if err := informer.RemoveEventHandler(registered); err != nil {
				t.Error(err)
			}
		})
		if got := took(t.Context(), barrier, configMap("b", 2)); got != time.Second {
			t.Errorf("the write was held for %v, want until the handler is removed", got)
		}

		if got := took(t.Context(), barrier, configMap("c", 3)); got != barrierTimeout {
			t.Errorf("a write that no handler sees was held for %v, want %v for the handlers that are left", got, barrierTimeout)
		}
		source.Delete(configMap("b", 0))
		if got := took(t.Context(), barrier, configMap("b", 3)); got != 0 {
			t.Errorf("the deletion was held for %v, want until the handlers that are left have seen it", got)
		}
		if _, err := informer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{}, 0); err != nil {
			t.Fatal(err)
		}
		if got := took(t.Context(), barrier, configMap("b", 3)); got != 0 {
			t.Errorf("the deletion was held for %v, want no wait for a handler that came after it", got)
		}
		stop()
		source.Broadcaster.Shutdown()
	})
}

// This test calls a handler with a series of events. After each event, the test checks which writes count as observed.
func TestObservedHandler(t *testing.T) {
	t.Parallel()
	h := &observedHandler{informer: &observedInformer{}}
	called, busy := 0, 0
	note := func() {
		called++
		if h.busy.Load() {
			busy++
		}
	}
	h.ResourceEventHandler = cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { note() }, UpdateFunc: func(any, any) { note() }, DeleteFunc: func(any) { note() },
	}
	steps := []struct {
		name, reason string
		call         func()
		// After the call, the handler must count as called with the writes in seen, and not with the writes in unseen.
		seen, unseen []write
	}{{
		name:   "add",
		reason: "the handler has seen this version and all earlier versions",
		call:   func() { h.OnAdd(configMap("a", 5), false) },
		seen:   []write{{5, "uid-of-a"}, {4, "uid-of-b"}},
		unseen: []write{{6, "uid-of-a"}},
	}, {
		name:   "resync",
		reason: "an older version takes nothing back",
		call:   func() { h.OnUpdate(configMap("b", 3), configMap("b", 3)) },
		seen:   []write{{5, "uid-of-a"}},
		unseen: []write{{6, "uid-of-a"}},
	}, {
		name:   "update",
		reason: "the new version counts",
		call:   func() { h.OnUpdate(configMap("a", 9), configMap("a", 6)) },
		seen:   []write{{6, "uid-of-a"}},
		unseen: []write{{7, "uid-of-a"}},
	}, {
		name:   "lost",
		reason: "the version of the deletion isn't known, but the object is gone",
		call:   func() { h.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/a", Obj: configMap("a", 99)}) },
		seen:   []write{{7, "uid-of-a"}},
		unseen: []write{{7, "uid-of-b"}},
	}, {
		name:   "another lost",
		reason: "both objects are gone",
		call:   func() { h.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/b", Obj: configMap("b", 99)}) },
		seen:   []write{{7, "uid-of-a"}, {7, "uid-of-b"}},
		unseen: []write{{7, "uid-of-c"}},
	}, {
		name:   "lost before it was known",
		reason: "the event has no object, so the UID of the deleted object is unknown",
		call:   func() { h.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/c"}) },
		unseen: []write{{7, "uid-of-c"}},
	}, {
		name:   "delete",
		reason: "a version is known again, and the lost object may exist again",
		call:   func() { h.OnDelete(configMap("c", 8)) },
		seen:   []write{{8, "uid-of-a"}},
		unseen: []write{{9, "uid-of-a"}},
	}, {
		name:   "no version",
		reason: "the first event has no resourceVersion, and the second event has no object",
		call:   func() { h.OnAdd(configMap("a", 0), false); h.OnAdd("no object", false) },
		seen:   []write{{8, "uid-of-a"}},
		unseen: []write{{9, "uid-of-a"}},
	}}
	for _, step := range steps {
		called, busy = 0, 0
		notified := notifies(t, h.informer, step.call)
		if called == 0 || busy != called || h.busy.Load() {
			t.Errorf("%s: of %d calls the handler was busy in %d, and is so now: %t", step.name, called, busy, h.busy.Load())
		}
		for _, w := range step.seen {
			if !h.observed(w) {
				t.Errorf("%s: %v is not observed: %s", step.name, w, step.reason)
			}
		}
		for _, w := range step.unseen {
			if h.observed(w) {
				t.Errorf("%s: %v is observed: %s", step.name, w, step.reason)
			}
		}
		if want := step.name != "resync" && step.name != "no version" && step.name != "lost before it was known"; notified != want {
			t.Errorf("%s: notified: %t, want %t", step.name, notified, want)
		}
	}
}

// notifies reports whether a call wakes a goroutine that waits for the handlers of an informer. The call runs in a
// synctest bubble.
func notifies(t *testing.T, informer *observedInformer, call func()) bool {
	t.Helper()
	looks, woken := 0, false
	synctest.Test(t, func(t *testing.T) {
		// Make a new Variable, because a Variable works only in the bubble in which it is made.
		informer.handlers = condition.Variable[observedHandlers]{}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_ = informer.handlers.Wait(ctx, func(observedHandlers) bool {
				looks++
				return false
			})
		}()
		synctest.Wait()
		call()
		synctest.Wait()
		woken = looks > 1 // before cancel, because the end of the context wakes the goroutine, too
		cancel()
	})
	return woken
}

// storeAt is an informer whose store has reached a resourceVersion.
type storeAt struct {
	cache.SharedIndexInformer
	cache.Store
	version string
}

func (s storeAt) GetStore() cache.Store                { return s }
func (s storeAt) LastStoreSyncResourceVersion() string { return s.version }

func TestStored(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, version string
		busy, want            bool
	}{
		{name: "past", reason: "the store has the write", version: "10", want: true},
		{name: "at", reason: "the store has the write", version: "9", want: true},
		{name: "before", reason: "the store doesn't have the write", version: "8"},
		{name: "unknown", reason: "nothing was listed", version: ""},
		{name: "busy", reason: "a handler may be handling the write", version: "9", busy: true},
	} {
		handlers := observedHandlers{{}, {}}
		handlers[1].busy.Store(test.busy)
		informer := &observedInformer{SharedIndexInformer: storeAt{version: test.version}}
		if got := informer.stored(write{version: 9}, handlers); got != test.want {
			t.Errorf("%s: %t, want %t: %s", test.name, got, test.want, test.reason)
		}
	}
}
