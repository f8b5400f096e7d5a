package storage

import (
	"context"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// progressPeriod is the period at which watches that ask for progress get etcd's revision.
const progressPeriod = 5 * time.Second

// hub serves the watches of a member from one watch of etcd's store and a log of recent events.
//
// A watch that begins in the past gets its events at once. etcd would take up to 100 ms for them, the period at which
// it serves such watches, and every watch cache would wait that long if a write comes between the cache's list and its
// watch. A watch that begins before the log is passed to etcd.
//
// A watch cache of a resource without events gets etcd's revision when it needs it. For a consistent read, a cache asks
// for etcd's revision and then waits until it has seen that revision itself. The library would ask every 100 ms.
type hub struct {
	clientv3.Watcher // etcd's own watcher
	store            mvcc.WatchableKV

	mu      sync.Mutex
	began   int64 // the hub has seen all events after this revision
	hidden  int64 // events up to this revision can't be watched
	log     eventLog
	watches hubWatches
	needs   map[string]int64 // by a watch's key: the revision that the watch must get
	older   bool             // etcd's own watcher is in use
	lost    bool             // events have been lost: all watches go to etcd's own watcher

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup // incremented under mu, before life ends
}

// newHub starts to watch the store. Watches that begin before the log go to the inner watcher. Close ends the hub.
func newHub(store mvcc.WatchableKV, inner clientv3.Watcher) *hub {
	life, end := context.WithCancel(context.Background())
	stream := store.NewWatchStream()
	revision := store.Rev()
	h := &hub{
		Watcher: inner, store: store, began: revision, log: eventLog{from: revision, last: revision},
		watches: hubWatches{}, needs: map[string]int64{}, life: life, end: end,
	}
	// A new stream accepts its first watch of all keys.
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

// lose ends the watches. It is called when the hub was so slow that etcd has dropped events.
func (h *hub) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost, h.log.events = true, nil
	h.watches.finish()
}

// dispatch logs events and passes each to the watches that want it.
func (h *hub) dispatch(events []*mvccpb.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		for w := range h.watches {
			if w.wants(e) {
				if w.needsPrevious(e) {
					complete(h.store, e)
				}
				w.push(e)
			}
		}
		h.log.record(e) // with its previous value
	}
	for key, revision := range h.needs {
		if revision <= h.log.last {
			delete(h.needs, key)
			h.watches.tell(h.log.last, beginsWith(key))
		}
	}
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
		w.run(ctx, wake, out)
	})
	return out
}

// follow adds a watch whose events the caller takes, until the watch leaves. It returns false if the hub doesn't have
// all events of the watch.
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

// replay passes the events since its revision to a new watch. It returns false if the log doesn't have all of them.
func (h *hub) replay(w *hubWatch) bool {
	if w.from == 0 || w.from > h.log.last {
		return true
	}
	events, ok := h.log.since(w.from)
	if !ok {
		return false
	}
	defer h.log.shorten()
	for _, e := range events {
		if !w.wants(e) {
			continue
		}
		before := heldBytes(e)
		if w.needsPrevious(e) && !complete(h.store, e) {
			return false
		}
		h.log.bytes += heldBytes(e) - before
		w.push(e)
	}
	if w.progress {
		w.tell(h.log.last)
	}
	return true
}

// RequestProgress sends etcd's revision to all watches.
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
	h.watches.tell(h.log.last, func(*hubWatch) bool { return true })
}

// need sends the revision to the watches that begin with the key, as soon as etcd has reached the revision.
func (h *hub) need(key string, revision int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if revision > h.log.last {
		h.needs[key] = max(revision, h.needs[key])
		return
	}
	h.watches.tell(h.log.last, beginsWith(key))
}

// begin makes events up to the revision unavailable to watches.
func (h *hub) begin(revision int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hidden, h.began, h.log.from = max(h.hidden, revision), max(h.began, revision), max(h.log.from, revision)
}

// beginning returns the revision with which a watch cache can begin.
func (h *hub) beginning() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.began
}

// earliest returns the revision after which watches can begin without a call of etcd.
func (h *hub) earliest() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.from
}

// Close ends all watches. It returns when no call into the store is left.
func (h *hub) Close() error {
	h.mu.Lock()
	if h.life.Err() == nil && !h.lost {
		h.watches.finish()
	}
	h.end()
	h.mu.Unlock()
	h.running.Wait()
	return h.Watcher.Close()
}

// hubWatches are the watches of a hub.
type hubWatches map[*hubWatch]struct{}

// tell sends a revision to the watches that ask for progress, and of which the predicate holds.
func (all hubWatches) tell(revision int64, of func(*hubWatch) bool) {
	for w := range all {
		if w.progress && of(w) {
			w.tell(revision)
		}
	}
}

// beginsWith holds for watches whose range begins with the key.
func beginsWith(key string) func(*hubWatch) bool {
	return func(w *hubWatch) bool { return w.key == key }
}

func (all hubWatches) finish() {
	for w := range all {
		w.finish()
	}
}

// hubWatch carries the events of a watch from the hub to a client, which may be slow.
type hubWatch struct {
	key, end string // the range of keys; without an end, the single key
	from     int64
	progress bool
	// lastValues is true for a watch that needs previous values of deletions alone.
	lastValues bool
	notify     func()        // called under the hub's lock when there is something to take, and at the end
	ended      chan struct{} // closed when no more events will come

	mu     sync.Mutex
	events []*clientv3.Event
	told   int64 // the revision that the client knows, or will know after the next take
}

func newHubWatch(key, end string, from int64, notify func()) *hubWatch {
	return &hubWatch{key: key, end: end, from: from, notify: notify, ended: make(chan struct{})}
}

// wants reports whether the watch is for the event.
func (w *hubWatch) wants(e *clientv3.Event) bool {
	if e.Kv.ModRevision < w.from {
		return false
	}
	switch key := string(e.Kv.Key); w.end {
	case "":
		return key == w.key
	case "\x00": // all keys from the first
		return key >= w.key
	default:
		return key >= w.key && key < w.end
	}
}

// needsPrevious reports whether the watch needs the event's previous value.
func (w *hubWatch) needsPrevious(e *clientv3.Event) bool {
	return !w.lastValues || e.Type == clientv3.EventTypeDelete
}

func (w *hubWatch) push(e *clientv3.Event) {
	w.change(func() {
		w.events = append(w.events, e)
		w.told = e.Kv.ModRevision
	})
}

// tell passes a revision that etcd has reached, unless the client knows it already.
func (w *hubWatch) tell(revision int64) {
	w.change(func() { w.told = max(w.told, revision) })
}

func (w *hubWatch) change(change func()) {
	w.mu.Lock()
	change()
	w.mu.Unlock()
	w.notify()
}

// finish ends the events.
func (w *hubWatch) finish() {
	close(w.ended)
	w.notify()
}

// take returns the events since the last call, and etcd's revision.
func (w *hubWatch) take() (events []*clientv3.Event, told int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	events, w.events = w.events, nil
	return events, w.told
}

// run sends events to the client until the context or the watch ends.
func (w *hubWatch) run(ctx context.Context, wake <-chan struct{}, out chan<- clientv3.WatchResponse) {
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
