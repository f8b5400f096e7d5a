package storage

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	apistorage "k8s.io/apiserver/pkg/storage"
)

// collect returns the keys of the next n events of a watch.
func collect(t *testing.T, events clientv3.WatchChan, n int) []string {
	t.Helper()
	var keys []string
	for len(keys) < n {
		select {
		case r, open := <-events:
			if !open || r.Err() != nil {
				t.Fatalf("the watch has ended after %q: %v", keys, r.Err())
			}
			for _, e := range r.Events {
				if e.Kv.ModRevision > r.Header.Revision {
					t.Errorf("an event of revision %d in a response of revision %d", e.Kv.ModRevision, r.Header.Revision)
				}
				if !e.IsCreate() && e.PrevKv == nil {
					t.Errorf("no previous value of %q", e.Kv.Key)
				}
				keys = append(keys, string(e.Kv.Key))
			}
		case <-time.After(time.Minute):
			t.Fatalf("no event came after %q", keys)
		}
	}
	return keys
}

func TestHubWatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reason string
		key          string
		opts         []clientv3.OpOption
		want         []string
	}{
		{"prefix", "a recursive watch", "/a/", []clientv3.OpOption{clientv3.WithPrefix()}, []string{"/a/1", "/a/1", "/a/1", "/a/2"}},
		{"key", "a watch of one object", "/a/1", nil, []string{"/a/1", "/a/1", "/a/1"}},
		{"every key", "an empty end stands for a range without an end", "\x00",
			[]clientv3.OpOption{clientv3.WithFromKey()}, []string{"/a/1", "/b/1", "/a/1", "/a/1", "/a/2"}},
		{"filtered", "the hub passes a filtered watch to etcd, which leaves out the deletion", "/a/",
			[]clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithFilterDelete()}, []string{"/a/1", "/a/1", "/a/2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := startMember(t, Options{})
			put(t, m, "/a/1", "1")
			put(t, m, "/b/1", "1")
			put(t, m, "/a/1", "2")
			if _, err := m.client.KV.Delete(t.Context(), "/a/1"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			opts := append([]clientv3.OpOption{clientv3.WithRev(m.hub.began + 1), clientv3.WithPrevKV()}, c.opts...)
			events := m.client.Watch(ctx, c.key, opts...)
			put(t, m, "/a/2", "1")
			if got := collect(t, events, len(c.want)); !slices.Equal(got, c.want) {
				t.Errorf("events of %q, want %q: %s", got, c.want, c.reason)
			}
			cancel()
			for range events {
				continue // read on until the channel is closed
			}
		})
	}
}

// If the hub's log of recent events has dropped the first events of a watch, the watch gets them from etcd. A
// client that doesn't read its watch delays no other watch.
func TestHubForgets(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	slow := m.client.Watch(t.Context(), "/a/", clientv3.WithPrefix(), clientv3.WithRev(m.hub.began+1))
	const n = 2 * maxLogEvents
	for i := range n {
		put(t, m, fmt.Sprint("/a/", i), "1")
	}
	check := func(events clientv3.WatchChan, what string) {
		t.Helper()
		keys := collect(t, events, n)
		if keys[0] != "/a/0" || keys[n-1] != fmt.Sprint("/a/", n-1) {
			t.Errorf("%s: %d events from %q to %q", what, len(keys), keys[0], keys[n-1])
		}
	}
	check(slow, "a slow watch")
	if m.hub.earliest() == m.hub.began {
		t.Fatal("the log keeps everything")
	}
	check(m.client.Watch(t.Context(), "/a/", clientv3.WithPrefix(), clientv3.WithRev(m.hub.began+1)), "a watch from before the log")
}

// The hub's log of recent events has a bounded size. The event of a deletion counts with its previous value
// only.
func TestHubKeepsFewBytes(t *testing.T) {
	t.Parallel()
	const n, value = 16, maxLogBytes / 4
	for _, c := range []struct {
		name, reason string
		late         bool
	}{
		{"watched", "the event of a deletion has the deleted value", false},
		{"watched later", "for a watch from the past, the hub reads the deleted value", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := startMember(t, Options{})
			for i := range n {
				put(t, m, fmt.Sprint("/a/", i), strings.Repeat("x", value))
			}
			from := clientv3.WithRev(m.server.KV().Rev() + 1)
			watch := func() clientv3.WatchChan {
				return m.client.Watch(t.Context(), "/a/", clientv3.WithPrefix(), clientv3.WithPrevKV(), from)
			}
			var events clientv3.WatchChan
			if !c.late {
				events = watch()
			}
			for i := range n {
				if _, err := m.client.KV.Delete(t.Context(), fmt.Sprint("/a/", i)); err != nil {
					t.Fatal(err)
				}
			}
			for m.hub.seen() < m.server.KV().Rev() && t.Context().Err() == nil {
				runtime.Gosched()
			}
			if c.late {
				events = watch()
			}
			collect(t, events, n)
			m.hub.mu.Lock()
			defer m.hub.mu.Unlock()
			kept := 0
			for _, e := range m.hub.log.events {
				kept += len(e.Kv.GetValue()) + len(e.PrevKv.GetValue())
			}
			if kept == 0 || kept > maxLogBytes || kept != m.hub.log.bytes {
				t.Errorf("the log keeps %d bytes, and counts %d, want something and at most %d: %s", kept, m.hub.log.bytes, maxLogBytes, c.reason)
			}
		})
	}
}

// seen returns the last revision that the hub has received.
func (h *hub) seen() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.last
}

// The hub's log of recent events is bounded by the number of events and by their bytes. When the log exceeds a bound,
// it drops its older half, and the rest of a transaction that begins in that half.
func TestHubLog(t *testing.T) {
	t.Parallel()
	third, small := make([]byte, maxLogBytes/3), make([]byte, 1)
	for _, test := range []struct {
		name, reason string
		value        []byte
		revisions    []int64
		want         int // the number of events that are left in the log
		from         int64
	}{
		{name: "full", reason: "the log keeps this number of bytes", value: third, revisions: []int64{1, 2, 3}, want: 3},
		{name: "just full", reason: "the log keeps this number of bytes", value: make([]byte, maxLogBytes/4),
			revisions: []int64{1, 2, 3, 4}, want: 4},
		{name: "too large", reason: "the log drops the older half of its events", value: third,
			revisions: []int64{1, 2, 3, 4}, want: 2, from: 2},
		{name: "full again", reason: "forgotten events don't count", value: third, revisions: []int64{1, 2, 3, 4, 5}, want: 3, from: 2},
		{name: "too large again", reason: "events that are still in the log count", value: third,
			revisions: []int64{1, 2, 3, 4, 5, 6}, want: 2, from: 4},
		{name: "odd", reason: "the log drops the older of two events", value: append(third, third...),
			revisions: []int64{1, 2}, want: 1, from: 1},
		{name: "transaction", reason: "the events of a transaction stay together", value: third,
			revisions: []int64{1, 2, 2, 3}, want: 1, from: 2},
		{name: "large transaction", reason: "the log drops a transaction that is too large", value: third,
			revisions: []int64{1, 2, 2, 2}, want: 0, from: 2},
		{name: "many", reason: "the log keeps this number of events", value: small, revisions: upTo(maxLogEvents), want: maxLogEvents},
		{name: "too many", reason: "the log drops the older half of its events", value: small,
			revisions: upTo(maxLogEvents + 1), want: maxLogEvents / 2, from: maxLogEvents/2 + 1},
	} {
		var log eventLog
		for _, revision := range test.revisions {
			log.record(&clientv3.Event{Kv: &mvccpb.KeyValue{Value: test.value, ModRevision: revision}})
		}
		if len(log.events) != test.want || log.from != test.from || log.bytes != test.want*len(test.value) || log.last != test.revisions[len(test.revisions)-1] {
			t.Errorf("%s: %s: %d events of %d bytes since revision %d until %d, want %d events since %d",
				test.name, test.reason, len(log.events), log.bytes, log.from, log.last, test.want, test.from)
		}
	}
}

func upTo(n int64) []int64 {
	var revisions []int64
	for i := range n {
		revisions = append(revisions, i+1)
	}
	return revisions
}

// If etcd drops events that the hub hasn't received, the hub ends its watches. New watches go to etcd's own
// watcher.
func TestHubLoses(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	put(t, m, "/a/1", "1")
	events := m.client.Watch(t.Context(), "/a/", clientv3.WithPrefix(), clientv3.WithRev(m.hub.began+1))
	if got := collect(t, events, 1); got[0] != "/a/1" {
		t.Fatalf("events of %q", got)
	}
	m.hub.lose()
	for range events {
		continue // read on until the channel is closed
	}
	if m.hub.follow(newHubWatch("/a/", "/a0", 0, func() {})) {
		t.Error("a watch is followed by a hub that has lost events")
	}
	put(t, m, "/a/2", "1")
	again := m.client.Watch(t.Context(), "/a/", clientv3.WithPrefix(), clientv3.WithRev(m.hub.began+1), clientv3.WithPrevKV())
	if got, want := collect(t, again, 2), []string{"/a/1", "/a/2"}; !slices.Equal(got, want) {
		t.Errorf("events of %q, want %q", got, want)
	}
}

// asked is a store that counts the requests for progress.
type asked struct {
	apistorage.Interface
	times int
}

func (a *asked) RequestWatchProgress(context.Context) error {
	a.times++
	return nil
}

// A watch cache that waits for progress of its own watch wakes no other cache. The request goes on to etcd's own watcher only
// if that has a watch.
func TestProgressOfOneResource(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	put(t, m, "/c/1", "1")
	a, b := newHubWatch("/a/", "/a0", 0, func() {}), newHubWatch("/b/", "/b0", 0, func() {})
	for _, w := range []*hubWatch{a, b} {
		w.progress = true
		if !m.hub.follow(w) {
			t.Fatal("the hub doesn't follow a new watch")
		}
	}
	for _, step := range []struct {
		name      string
		innerUsed bool
		asked     int
		reason    string
	}{
		{"own watches", false, 0, "the hub has all watches"},
		{"etcd's watcher", true, 1, "the cache's watch may be one of etcd's"},
	} {
		m.hub.innerUsed = step.innerUsed
		inner := &asked{}
		store := &promptStore{inner, m.hub, "/a/"}
		if err := store.RequestWatchProgress(t.Context()); err != nil {
			t.Fatal(err)
		}
		if inner.times != step.asked {
			t.Errorf("%s: %d requests went to etcd, want %d: %s", step.name, inner.times, step.asked, step.reason)
		}
	}
	if _, told := a.take(); told == 0 {
		t.Error("the watch of the resource wasn't told the revision")
	}
	if _, told := b.take(); told != 0 {
		t.Errorf("the watch of another resource was told revision %d", told)
	}
}
