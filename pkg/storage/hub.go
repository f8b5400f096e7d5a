package storage

import (
	"context"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

const (
	// maxLogBytes is how much of the recent events a hub keeps, by the length of their values and
	// previous values, and maxLogEvents how many.
	maxLogBytes  = 1 << 20
	maxLogEvents = 2000

	// progressPeriod is how often watches that ask for progress are told how far etcd is.
	progressPeriod = 5 * time.Second
)

// hub serves the watches of a member from one watch of etcd's store and a log of the recent events.
//
// A watch that begins in the past gets its events at once. Of etcd it would get them after up to
// 100 ms, the period at which etcd serves those, and so would each watch cache in a server where
// something is written between the cache's list and its watch. A watch from before the log is
// etcd's own.
//
// A watch cache in a resource where nothing happens is told how far etcd is when it needs to know
// that: with a consistent read, a cache finds out etcd's revision and then waits until it has got
// that far itself. The library would ask for it every 100 ms.
type hub struct {
	clientv3.Watcher // etcd's own
	store            mvcc.WatchableKV
	yield            func()

	mu       sync.Mutex
	began    int64 // what happened after this revision has been seen
	hidden   int64 // what happened until this revision can't be watched
	log      []*clientv3.Event
	logBytes int
	from     int64 // the log has all that happened after this revision
	revision int64 // of the last event
	watches  map[*hubWatch]struct{}
	needs    map[string]int64 // by a watch's key: the revision that it is to be told of
	older    bool             // etcd's own watcher is in use
	lost     bool             // events have been lost: etcd's own watcher must do

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup // incremented under mu, before life ends
}

// newHub begins to watch the store; watches before the log go to the inner watcher. Close ends it. A watch calls
// yield before it takes what there is.
func newHub(store mvcc.WatchableKV, inner clientv3.Watcher, yield func()) *hub {
	life, end := context.WithCancel(context.Background())
	stream := store.NewWatchStream()
	revision := store.Rev()
	h := &hub{
		Watcher: inner, store: store, yield: yield, began: revision, from: revision, revision: revision,
		watches: map[*hubWatch]struct{}{}, needs: map[string]int64{}, life: life, end: end,
	}
	// A new stream's first watch of all keys can't be refused.
	_, _ = stream.Watch(life, clientv3.AutoWatchID, []byte{0}, []byte{}, revision+1)
	h.running.Go(func() { h.run(stream) })
	return h
}

// run passes events on until the hub is closed.
func (h *hub) run(stream mvcc.WatchStream) {
	defer stream.Close()
	tick := time.NewTicker(progressPeriod)
	defer tick.Stop()
	for {
		select {
		case response := <-stream.Chan():
			if response.CompactRevision != 0 {
				h.lose()
				return
			}
			h.dispatch(response.Events)
		case <-tick.C:
			h.tell()
		case <-h.life.Done():
			return
		}
	}
}

// lose ends the watches after the hub has been so slow that etcd has dropped what it hadn't got.
func (h *hub) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost, h.log = true, nil
	for w := range h.watches {
		w.finish()
	}
}

// dispatch logs events and gives them to whoever watches them.
func (h *hub) dispatch(events []*mvccpb.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		for w := range h.watches {
			if w.wants(e) {
				h.complete(e)
				w.push(e)
			}
		}
		h.record(e) // with what it has been completed by
	}
	for key, revision := range h.needs {
		if revision <= h.revision {
			delete(h.needs, key)
			h.tellOf(key)
		}
	}
}

// record adds an event to the log.
func (h *hub) record(e *clientv3.Event) {
	h.log = append(h.log, e)
	h.logBytes += heldBytes(e)
	h.revision = e.Kv.ModRevision
	h.shorten()
}

// heldBytes is what an event keeps in memory. A deletion has nothing but the previous value.
func heldBytes(e *clientv3.Event) int { return len(e.Kv.GetValue()) + len(e.PrevKv.GetValue()) }

// shorten forgets the older half of a log that is too long, until it isn't or has the last event alone.
func (h *hub) shorten() {
	for len(h.log) > 1 && (h.logBytes > maxLogBytes || len(h.log) > maxLogEvents) {
		half := len(h.log) - len(h.log)/2
		h.from = max(h.from, h.log[half-1].Kv.ModRevision)
		for half < len(h.log) && h.log[half].Kv.ModRevision <= h.from {
			half++ // of the same transaction
		}
		h.log = slices.Clone(h.log[half:])
		h.logBytes = 0
		for _, e := range h.log {
			h.logBytes += heldBytes(e)
		}
	}
}

// complete adds the previous value to an event, and says whether that was possible: it may have
// been compacted.
func (h *hub) complete(e *clientv3.Event) bool {
	if e.PrevKv != nil || e.IsCreate() {
		return true
	}
	r, err := h.store.Range(context.Background(), e.Kv.Key, nil, mvcc.RangeOptions{Rev: e.Kv.ModRevision - 1})
	if err != nil || len(r.KVs) == 0 {
		return false
	}
	e.PrevKv = r.KVs[0]
	return true
}

// Watch implements clientv3.Watcher.
func (h *hub) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	op := clientv3.OpWatch(key, opts...)
	wake := make(chan struct{}, 1)
	w := newHubWatch(string(op.KeyBytes()), string(op.RangeBytes()), op.Rev(), func() {
		select {
		case wake <- struct{}{}:
		default: // it is awake
		}
	})
	w.progress = op.IsProgressNotify()
	out := make(chan clientv3.WatchResponse)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		close(out)
		return out
	}
	if w.from != 0 && w.from <= h.hidden {
		refusal := make(chan clientv3.WatchResponse, 1)
		refusal <- clientv3.WatchResponse{CompactRevision: h.hidden + 1, Canceled: true}
		close(refusal)
		return refusal
	}
	if op.IsCreatedNotify() || op.IsFilterPut() || op.IsFilterDelete() || !h.join(w) {
		h.older = true
		return h.Watcher.Watch(withoutValues{ctx}, key, opts...)
	}
	h.running.Go(func() {
		defer close(out)
		defer h.leave(w)
		w.run(ctx, wake, out, h.yield)
	})
	return out
}

// follow adds a watch whose events the caller takes, until it leaves. It returns false if the hub
// can't give it all its events.
func (h *hub) follow(w *hubWatch) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.life.Err() == nil && h.join(w)
}

func (h *hub) join(w *hubWatch) bool {
	if h.lost || !h.replay(w) {
		return false
	}
	h.watches[w] = struct{}{}
	return true
}

func (h *hub) leave(w *hubWatch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watches, w)
}

// replay gives a new watch what has happened since its revision, if the log goes back so far.
func (h *hub) replay(w *hubWatch) bool {
	if w.from == 0 || w.from > h.revision {
		return true
	}
	if w.from <= h.from {
		return false
	}
	first, _ := slices.BinarySearchFunc(h.log, w.from, func(e *clientv3.Event, from int64) int { return int(e.Kv.ModRevision - from) })
	defer h.shorten()
	for _, e := range h.log[first:] {
		if w.wants(e) {
			before := heldBytes(e)
			if !h.complete(e) {
				return false
			}
			h.logBytes += heldBytes(e) - before
			w.push(e)
		}
	}
	if w.progress {
		w.tell(h.revision)
	}
	return true
}

// RequestProgress tells all watches how far etcd is.
func (h *hub) RequestProgress(ctx context.Context) error {
	h.tell()
	h.mu.Lock()
	older := h.older
	h.mu.Unlock()
	if !older {
		return nil
	}
	return h.Watcher.RequestProgress(withoutValues{ctx})
}

func (h *hub) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watches {
		if w.progress {
			w.tell(h.revision)
		}
	}
}

// need tells the watches that begin with the key when etcd has got to the revision.
func (h *hub) need(key string, revision int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if revision > h.revision {
		h.needs[key] = max(revision, h.needs[key])
		return
	}
	h.tellOf(key)
}

func (h *hub) tellOf(key string) {
	for w := range h.watches {
		if w.key == key && w.progress {
			w.tell(h.revision)
		}
	}
}

// begin ends what can be watched of the time until the revision.
func (h *hub) begin(revision int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hidden, h.began, h.from = max(h.hidden, revision), max(h.began, revision), max(h.from, revision)
}

// beginning is the revision that a watch cache can begin with.
func (h *hub) beginning() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.began
}

// earliest is the revision that watches can begin after at no cost.
func (h *hub) earliest() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.from
}

// Close ends all watches and returns when no call into the store is left.
func (h *hub) Close() error {
	h.mu.Lock()
	if h.life.Err() == nil && !h.lost {
		for w := range h.watches {
			w.finish()
		}
	}
	h.end()
	h.mu.Unlock()
	h.running.Wait()
	return h.Watcher.Close()
}

// hubWatch is a watch on its way from the hub to a client that may be slow.
type hubWatch struct {
	key, end string // the range of keys; without an end, the one key
	from     int64
	progress bool
	notify   func()        // called, with the hub locked, when there is something to take, or the end
	ended    chan struct{} // closed when nothing more will come

	mu     sync.Mutex
	events []*clientv3.Event
	told   int64 // how far the client will know that etcd is
}

func newHubWatch(key, end string, from int64, notify func()) *hubWatch {
	return &hubWatch{key: key, end: end, from: from, notify: notify, ended: make(chan struct{})}
}

// wants says whether the event is one of the watched.
func (w *hubWatch) wants(e *clientv3.Event) bool {
	if e.Kv.ModRevision < w.from {
		return false
	}
	switch key := string(e.Kv.Key); w.end {
	case "":
		return key == w.key
	case "\x00": // every key from the first
		return key >= w.key
	default:
		return key >= w.key && key < w.end
	}
}

func (w *hubWatch) push(e *clientv3.Event) {
	w.change(func() {
		w.events = append(w.events, e)
		w.told = e.Kv.ModRevision
	})
}

// tell says that etcd has got to the revision, unless the client will know that.
func (w *hubWatch) tell(revision int64) {
	w.change(func() { w.told = max(w.told, revision) })
}

func (w *hubWatch) change(change func()) {
	w.mu.Lock()
	change()
	w.mu.Unlock()
	w.notify()
}

// finish says that nothing more will come.
func (w *hubWatch) finish() {
	close(w.ended)
	w.notify()
}

// take returns the events since the last time, and how far etcd is.
func (w *hubWatch) take() (events []*clientv3.Event, told int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	events, w.events = w.events, nil
	return events, w.told
}

// run sends to the client until the context or the watch ends.
func (w *hubWatch) run(ctx context.Context, wake <-chan struct{}, out chan<- clientv3.WatchResponse, yield func()) {
	send := func(revision int64, events []*clientv3.Event) bool {
		select {
		case out <- clientv3.WatchResponse{Header: &pb.ResponseHeader{Revision: revision}, Events: events}:
			return true
		case <-ctx.Done():
		case <-w.ended:
		}
		return false
	}
	for sent := int64(0); ; {
		select {
		case <-wake:
		case <-ctx.Done():
			return
		case <-w.ended:
			return
		}
		yield()
		events, told := w.take()
		if n := len(events); n > 0 {
			sent = events[n-1].Kv.ModRevision
			if !send(sent, events) {
				return
			}
		}
		if told > sent { // a notification of progress
			sent = told
			if !send(told, nil) {
				return
			}
		}
	}
}
