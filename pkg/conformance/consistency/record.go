package consistency

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

const (
	// objectsOfEpoch is the number of objects of a resource that clients write at a time.
	objectsOfEpoch = 8
	// writesOfEpoch is the number of writes after which clients write other objects, because the time and the memory of
	// a check grow faster than the history of an object.
	writesOfEpoch = 6000
)

func objectName(epoch, i int) string { return prefix + strconv.Itoa(epoch) + "-" + strconv.Itoa(i) }

// run is the state that the clients of a run share.
type run struct {
	options   Options
	namespace string
	kinds     []kind
	began     time.Time
	writes    atomic.Int64
	// stopWriting ends the writes.
	stopWriting context.CancelFunc
	// first and last are resource versions of each kind: the first of the run, and the last that a client has seen.
	first []uint64
	last  []atomic.Uint64
}

func (r *run) now() time.Duration { return time.Since(r.began) }

// epoch returns the number of the objects that clients write now.
func (r *run) epoch() int { return int(r.writes.Load() / writesOfEpoch) }

// nextWrite counts a write, and returns its epoch, and whether it is the first of the epoch.
func (r *run) nextWrite() (epoch int, begins bool) {
	n := r.writes.Add(1)
	if int(n) == r.options.Writes {
		r.stopWriting()
	}
	return int(n / writesOfEpoch), n%writesOfEpoch == 0
}

func (r *run) index(k *kind) int {
	for i := range r.kinds {
		if &r.kinds[i] == k {
			return i
		}
	}
	return -1
}

// revisions returns the first resource version of the run, and the last that a writer has seen.
func (r *run) revisions(k *kind) (first, last uint64) {
	i := r.index(k)
	return r.first[i], max(r.first[i], r.last[i].Load())
}

// saw records a resource version.
func (r *run) saw(k *kind, revision uint64) {
	last := &r.last[r.index(k)]
	for {
		known := last.Load()
		if known >= revision || last.CompareAndSwap(known, revision) {
			return
		}
	}
}

// Record has clients write, read and watch objects until the duration has passed, and returns what they have sent and
// received. The objects are in a namespace that Record creates, and removes at its end. If ctx ends, Record removes the
// namespace, and returns an error.
func Record(ctx context.Context, o Options) (*History, error) {
	o = o.Defaulted()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	server, err := trial.Connect(ctx, trial.Options{Config: o.Configs[0], Patience: o.NamespacePatience})
	if err != nil {
		return nil, err
	}
	r := &run{options: o}
	if r.namespace, err = server.MakeNamespace(ctx, "consistency"); err != nil {
		return nil, errors.Join(err, server.Close(ctx))
	}
	for _, k := range kinds {
		if _, served := server.Find(k.resource); !served {
			continue
		}
		_, status := server.Find(k.resource.Sub("status"))
		k.status = k.status && status
		r.kinds = append(r.kinds, k)
	}
	if len(r.kinds) == 0 {
		return nil, errors.Join(fmt.Errorf("the server serves none of the resources %s and %s", kinds[0].resource, kinds[1].resource), server.Close(ctx))
	}
	history, err := r.record(ctx)
	return history, errors.Join(err, server.Close(ctx))
}

// clients are the clients of a run.
type clients struct {
	writers  []*writer
	readers  []*reader
	watchers []*watcher
	// last makes the last writes, and final the last reads.
	last  *writer
	final *reader
}

func (r *run) newClients() (*clients, error) {
	o := &r.options
	all := make([]*client, 2+o.Writers+o.Readers+len(r.kinds)+o.Watchers)
	for id := range all {
		var err error
		if all[id], err = r.newClient(id); err != nil {
			return nil, err
		}
	}
	next := func() *client {
		c := all[0]
		all = all[1:]
		return c
	}
	cs := &clients{last: newWriter(next()), final: &reader{client: next()}}
	for range o.Writers {
		cs.writers = append(cs.writers, newWriter(next()))
	}
	for range o.Readers {
		cs.readers = append(cs.readers, &reader{client: next()})
	}
	for i := range len(r.kinds) + o.Watchers {
		cs.watchers = append(cs.watchers, &watcher{client: next(), kind: &r.kinds[i%len(r.kinds)], steady: i < len(r.kinds)})
	}
	return cs, nil
}

// createOthers creates the objects that no client writes. In a list, half of them are before the objects that clients
// write, and half after them.
func (r *run) createOthers(ctx context.Context, c *client) error {
	for i := range r.kinds {
		k := &r.kinds[i]
		for n := range r.options.Others {
			name := []string{"before-", "past-"}[n%2] + strconv.Itoa(n)
			if a := c.do(ctx, &request{method: http.MethodPost, kind: k, body: k.object(name)}); a.outcome != OK {
				return fmt.Errorf("create %s: %s: %s", k.resource, a.outcome, a.reason)
			}
		}
	}
	return nil
}

// record has the clients of the run work, and returns their history.
func (r *run) record(ctx context.Context) (*History, error) {
	r.began = time.Now()
	r.first, r.last = make([]uint64, len(r.kinds)), make([]atomic.Uint64, len(r.kinds))
	cs, err := r.newClients()
	if err != nil {
		return nil, err
	}
	if err := r.createOthers(ctx, cs.final.client); err != nil {
		return nil, err
	}
	for i := range r.kinds {
		l := List{Mode: Recent}
		if cs.final.list(ctx, &r.kinds[i], &l, map[string]string{}); l.Outcome != OK {
			return nil, fmt.Errorf("list %s: %s: %s", r.kinds[i].resource, l.Outcome, l.Reason)
		}
		r.first[i] = l.revision()
		cs.watchers[i].last = l.revision()
	}
	watching, stopWatching := context.WithCancel(ctx)
	writing, stopWriting := context.WithTimeout(ctx, r.options.Duration)
	defer stopWriting()
	r.stopWriting = stopWriting
	var watches sync.WaitGroup
	for _, w := range cs.watchers {
		watches.Go(func() { w.work(watching, writing) })
	}
	faults, err := r.work(ctx, writing, cs)
	if err == nil {
		// The last writes and reads have no faults: they decide whether the history is complete.
		err = r.finish(ctx, cs.last)
	}
	patience := r.options.Patience
	if err != nil {
		patience = 0
	}
	timer := time.AfterFunc(patience, stopWatching)
	watches.Wait()
	timer.Stop()
	stopWatching()
	for i := range r.kinds {
		cs.final.listed(ctx, &r.kinds[i], Recent, 0, map[string]string{})
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("the run was interrupted: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	h := cs.history()
	h.Seed, h.Took, h.RequestTimeout, h.Faults = r.options.Seed, r.now(), r.options.RequestTimeout, faults
	h.Servers, h.Others = len(r.options.Configs), r.options.Others
	return h, nil
}

// work has the writers and readers work until writing ends, while Options.Disturb injects faults. It returns the numbers
// of faults.
func (r *run) work(ctx, writing context.Context, cs *clients) (faults map[string]int, err error) {
	var working sync.WaitGroup
	for _, w := range cs.writers {
		working.Go(func() { w.work(ctx, writing) })
	}
	for _, r := range cs.readers {
		working.Go(func() { r.work(ctx, writing) })
	}
	if disturb := r.options.Disturb; disturb != nil {
		working.Go(func() {
			if faults, err = disturb(writing); err != nil {
				err = fmt.Errorf("the faults of the run: %w", err)
			}
		})
	}
	working.Wait()
	return faults, err
}

// history returns what the clients have recorded.
func (cs *clients) history() *History {
	h := &History{Writers: len(cs.writers), Readers: len(cs.readers), Watchers: len(cs.watchers)}
	for _, w := range append(cs.writers, cs.last) {
		h.Operations = append(h.Operations, w.operations...)
	}
	for _, r := range append(cs.readers, cs.final) {
		h.Operations = append(h.Operations, r.operations...)
		h.Lists = append(h.Lists, r.lists...)
	}
	for _, w := range cs.watchers {
		h.Lists = append(h.Lists, w.lists...)
		h.Watches = append(h.Watches, w.watches...)
	}
	return h
}

// finish creates the last object of each kind. It repeats the requests until the servers answer.
func (r *run) finish(ctx context.Context, w *writer) error {
	for i := range r.kinds {
		var o *Operation
		if err := wait.PollUntilContextTimeout(ctx, pause, r.options.Patience, true, func(ctx context.Context) (bool, error) {
			o = w.write(ctx, &r.kinds[i], lastName, &create)
			return o.Outcome == OK || o.Outcome == Exists, nil
		}); err != nil {
			return fmt.Errorf("the last write, of client %d: %s %s: %w", o.Client, o.Outcome, o.Reason, err)
		}
	}
	return nil
}
