package informer

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
)

// source is a fake server for the test's informer: it lists objects and sends watch events. Each change gets the
// next resourceVersion.
type source = cachetesting.FakeControllerSource

func TestBarrierWait(t *testing.T) {
	t.Parallel()
	configMaps := schema.GroupResource{Resource: "configmaps"}
	const second = time.Second

	tests := []struct {
		name, reason string
		// handle is called when the handler gets the object "b". A nil handle does nothing.
		handle func()
		// act writes objects after the informer has synced.
		act func(*source)
		// later is called a second after the call of Barrier.Wait.
		later func(source *source, cancel, stop func())
		// resource and written are the arguments of Barrier.Wait.
		resource schema.GroupResource
		written  *corev1.ConfigMap
		// unstarted, if true, means that the test doesn't start the informer.
		unstarted bool

		atLeast, atMost time.Duration
	}{{
		name:     "other resource",
		reason:   "the resource has no informer",
		resource: schema.GroupResource{Resource: "secrets"},
		written:  configMap("b", 2),
	}, {
		name:     "observed",
		reason:   "the informer's watch brings the write at once",
		act:      func(s *source) { s.Add(configMap("b", 0)) },
		resource: configMaps,
		written:  configMap("b", 2),
	}, {
		name:     "deleted",
		reason:   "the event of a deletion carries its resourceVersion",
		act:      func(s *source) { s.Delete(configMap("a", 0)) },
		resource: configMaps,
		written:  configMap("a", 2),
	}, {
		name:     "overtaken",
		reason:   "a later write of another object shows that this write was observed",
		act:      func(s *source) { s.Add(configMap("b", 0)); s.Add(configMap("c", 0)) },
		resource: configMaps,
		written:  configMap("b", 2),
	}, {
		name:     "dry run",
		reason:   "an object that wasn't stored has no resourceVersion, and no event",
		resource: configMaps,
		written:  configMap("b", 0),
	}, {
		name:      "not started",
		reason:    "the informer's first list will contain the write",
		resource:  configMaps,
		written:   configMap("b", 2),
		unstarted: true,
	}, {
		name:     "slow handler",
		reason:   "the configuration of the write is in force only when the handler has returned",
		handle:   func() { time.Sleep(3 * second) }, //nolint:forbidigo // the handler is slow on a fake clock
		act:      func(s *source) { s.Add(configMap("b", 0)) },
		resource: configMaps,
		written:  configMap("b", 2),
		atLeast:  3 * second, atMost: 3 * second,
	}, {
		name:     "never observed",
		reason:   "a broken watch must not hold a write for ever",
		resource: configMaps,
		written:  configMap("b", 2),
		atLeast:  barrierTimeout, atMost: barrierTimeout,
	}, {
		name:     "request ends",
		reason:   "the client has ended the request",
		later:    func(_ *source, cancel, _ func()) { cancel() },
		resource: configMaps,
		written:  configMap("b", 2),
		atLeast:  second, atMost: second,
	}, {
		name:     "server ends",
		reason:   "the informers have stopped, so no event will come",
		later:    func(_ *source, _, stop func()) { stop() },
		resource: configMaps,
		written:  configMap("b", 2),
		atLeast:  second, atMost: second,
	}, {
		name:     "deletion seen by its absence",
		reason:   "a new list after a lost watch shows the deletion, but not its resourceVersion",
		act:      func(s *source) { s.DeleteDropWatch(configMap("a", 0)) },
		later:    func(s *source, _, _ func()) { s.ResetWatch() },
		resource: configMaps,
		written:  configMap("a", 2),
		atLeast:  second, atMost: 5 * second,
	}, {
		name:   "came and went between two lists",
		reason: "no handler is called with the object, but the store has a later version",
		act: func(s *source) {
			s.AddDropWatch(configMap("b", 0))
			s.DeleteDropWatch(configMap("b", 0))
		},
		later:    func(s *source, _, _ func()) { s.ResetWatch() },
		resource: configMaps,
		written:  configMap("b", 2),
		atLeast:  second, atMost: 5 * second,
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				source := cachetesting.NewFakeControllerSource()
				source.Add(configMap("a", 0))

				ctx, cancel := context.WithCancel(t.Context())
				following, stop := context.WithCancel(t.Context())
				defer stop()
				barrier := NewBarrier(following)
				informer := barrier.Observe(configMaps, cache.NewSharedIndexInformer(source, &corev1.ConfigMap{}, 0, nil))
				if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
					if test.handle != nil && obj.(*corev1.ConfigMap).Name == "b" {
						test.handle()
					}
				}}); err != nil {
					t.Fatal(err)
				}
				running, stopInformer := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					if !test.unstarted {
						informer.RunWithContext(running)
					}
				}()
				if !test.unstarted && !cache.WaitFor(ctx, "", barrier.checkers()...) {
					t.Fatal("the informer did not sync")
				}
				synctest.Wait() // wait until the informer watches: otherwise the test couldn't make it miss events
				if test.act != nil {
					test.act(source)
				}
				if test.later != nil {
					time.AfterFunc(second, func() { test.later(source, cancel, stop) })
				}

				start := time.Now()
				barrier.Wait(ctx, test.resource, test.written)
				if took := time.Since(start); took < test.atLeast || took > test.atMost {
					t.Errorf("%s: the wait took %v, want %v to %v", test.reason, took, test.atLeast, test.atMost)
				}
				cancel()
				stopInformer()
				<-ended
				source.Broadcaster.Shutdown()
			})
		})
	}
}

// configMap returns a config map. With version 0, it has no resourceVersion.
func configMap(name string, version int) *corev1.ConfigMap {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name)}}
	if version > 0 {
		object.ResourceVersion = strconv.Itoa(version)
	}
	return object
}
