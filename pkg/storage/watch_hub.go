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

// progressPeriod is the period at which the hub sends its last received revision to watches that want progress
// notifications.
const progressPeriod = 5 * time.Second

// hub serves all watches of a member. It has one watch of etcd's store, which gets every event, and a log of recent
// events.
//
// A watch that begins in the recent past gets its events from the log, at once. etcd serves watches of the past
// only every 100 ms. Each watch cache would wait that long if a write came between the cache's list and its watch.
// A watch that begins before the log goes to etcd, and so does a watch with options that the hub doesn't have.
//
// The hub also sends progress notifications with etcd's revision to watch caches and to Streams. For a consistent
// read, a watch cache reads etcd's revision, and waits until its own watch has reached that revision. If the resource
// has no events, only a progress notification shows the cache that its watch has reached the revision.
// k8s.io/apiserver would request such a notification every 100 ms; the hub sends it as soon as it is needed.
type hub struct {
	clientv3.Watcher // the watcher of etcd's own client
	store            mvcc.WatchableKV

	mu        sync.Mutex
	began     int64 // the hub has seen all events after this revision
	hidden    int64 // events up to this revision can't be watched
	log       eventLog
	watches   hubWatches
	needs     map[string]int64 // by the first key of a range: the revision that the hub must tell watches of the range
	innerUsed bool             // whether a watch has gone to etcd's own watcher
	lost      bool             // whether the hub has missed events: new watches then go to etcd's own watcher

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup // incremented under mu, and never after end
}

// newHub makes a hub, and starts to watch the store. Watches that the hub can't serve go to the inner watcher.
// Close ends the hub.
func newHub(store mvcc.WatchableKV, inner clientv3.Watcher) *hub {
	life, end := context.WithCancel(context.Background())
	stream := store.NewWatchStream()
	revision := store.Rev()
	h := &hub{
		Watcher: inner, store: store, began: revision, log: eventLog{from: revision, last: revision},
		watches: hubWatches{}, needs: map[string]int64{}, life: life, end: end,
	}
	// The error is impossible: the stream is new, and this is its first watch.
	_, _ = stream.Watch(life, clientv3.AutoWatchID, []byte{0}, []byte{}, revision+1)
	h.running.Go(func() { h.run(stream) })
	return h
}

// run receives the events of the store until the hub is closed.
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

// lose ends all watches. run calls lose if the hub was too slow: etcd has compacted events that the hub hasn't
// received.
func (h *hub) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost, h.log.events = true, nil
	h.watches.finish()
}

// dispatch passes each event to the watches to which the event belongs, and adds the event to the hub's log of
// recent events.
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
		h.log.record(e) // the log keeps the previous value too, if a watch needed it
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
		default: // the watch's goroutine has been woken already
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
		h.innerUsed = true
		return h.Watcher.Watch(withoutValues{ctx}, key, opts...)
	}
	h.running.Go(func() {
		defer close(out)
		defer h.leave(w)
		w.run(ctx, wake, out)
	})
	return out
}

// follow adds a watch without a client: the caller gets the events by calling take, and ends the watch by calling
// leave. follow returns false if the hub doesn't have all events of the watch.
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

// replay gives a new watch the events of the log since the watch's revision. It returns false if the log doesn't
// have all of these events.
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

// RequestProgress sends the last revision that the hub has received to all watches that want progress
// notifications. If watches have gone to etcd's own watcher, it also makes the same request there.
func (h *hub) RequestProgress(ctx context.Context) error {
	h.tell()
	if !h.usesInner() {
		return nil
	}
	return h.Watcher.RequestProgress(withoutValues{ctx})
}

// usesInner reports whether a watch has gone to etcd's own watcher.
func (h *hub) usesInner() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.innerUsed
}

func (h *hub) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches.tell(h.log.last, func(*hubWatch) bool { return true })
}

// need makes the hub send a progress notification to the watches with the key as the first key of their range. The
// hub sends the notification as soon as it has received all events up to the revision.
func (h *hub) need(key string, revision int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if revision > h.log.last {
		h.needs[key] = max(revision, h.needs[key])
		return
	}
	h.watches.tell(h.log.last, beginsWith(key))
}

// begin sets the revision at which the hub's history begins: a watch that begins later can't get events up to this
// revision.
func (h *hub) begin(revision int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hidden, h.began, h.log.from = max(h.hidden, revision), max(h.began, revision), max(h.log.from, revision)
}

// beginning returns the earliest revision with which a watch cache can begin.
func (h *hub) beginning() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.began
}

// earliest returns a revision. The hub's log of recent events has each event after the revision.
func (h *hub) earliest() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.from
}

// Close ends all watches. When it returns, no goroutine of the hub uses the store.
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

type hubWatches map[*hubWatch]struct{}

// tell sends a revision to the watches that want progress notifications and for which the predicate is true.
func (all hubWatches) tell(revision int64, of func(*hubWatch) bool) {
	for w := range all {
		if w.progress && of(w) {
			w.tell(revision)
		}
	}
}

// beginsWith returns a predicate that is true for a watch if the key is the first key of the watch's range.
func beginsWith(key string) func(*hubWatch) bool {
	return func(w *hubWatch) bool { return w.key == key }
}

func (all hubWatches) finish() {
	for w := range all {
		w.finish()
	}
}

// hubWatch carries the events of one watch from the hub to the watch's client. The client may be slow, so the
// events wait in a queue.
type hubWatch struct {
	key, end string // the range of keys; with an empty end, the single key
	from     int64
	progress bool
	// lastValues is true for a watch that needs previous values only in events of deletions.
	lastValues bool
	notify     func()        // called under the hub's lock when take has something new, and when the watch ends
	ended      chan struct{} // closed when no more events will come

	mu     sync.Mutex
	events []*clientv3.Event
	told   int64 // the revision that the client knows, or learns with the next take
}

func newHubWatch(key, end string, from int64, notify func()) *hubWatch {
	return &hubWatch{key: key, end: end, from: from, notify: notify, ended: make(chan struct{})}
}

// wants reports whether the event belongs to the watch.
func (w *hubWatch) wants(e *clientv3.Event) bool {
	if e.Kv.ModRevision < w.from {
		return false
	}
	switch key := string(e.Kv.Key); w.end {
	case "":
		return key == w.key
	case "\x00": // the range has no upper end
		return key >= w.key
	default:
		return key >= w.key && key < w.end
	}
}

// needsPrevious reports whether the watch needs the previous value of the event.
func (w *hubWatch) needsPrevious(e *clientv3.Event) bool {
	return !w.lastValues || e.Type == clientv3.EventTypeDelete
}

func (w *hubWatch) push(e *clientv3.Event) {
	w.change(func() {
		w.events = append(w.events, e)
		w.told = e.Kv.ModRevision
	})
}

// tell records that etcd has reached a revision. The next take returns the revision.
func (w *hubWatch) tell(revision int64) {
	w.change(func() { w.told = max(w.told, revision) })
}

func (w *hubWatch) change(change func()) {
	w.mu.Lock()
	change()
	w.mu.Unlock()
	w.notify()
}

// finish ends the watch: no more events will come.
func (w *hubWatch) finish() {
	close(w.ended)
	w.notify()
}

// take returns the events since the last call, and the revision that etcd has reached.
func (w *hubWatch) take() (events []*clientv3.Event, told int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	events, w.events = w.events, nil
	return events, w.told
}

// run sends the events to the client, until the context ends or the watch is finished.
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
		if told > sent { // a progress notification
			sent = told
			if !send(told, nil) {
				return
			}
		}
	}
}
