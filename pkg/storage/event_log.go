package storage

import (
	"context"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

const (
	// maxLogBytes bounds the total length of the values and previous values in an eventLog with several events. The
	// values of a single event may be longer. maxLogEvents bounds the number of events.
	maxLogBytes  = 1 << 20
	maxLogEvents = 2000
)

// eventLog has the recent events of etcd, in the order of their revisions. A watch that begins in the recent past
// gets its first events from the log.
type eventLog struct {
	events []*clientv3.Event
	bytes  int
	from   int64 // the log has all events after this revision
	last   int64 // the revision of the last event
}

// record adds an event.
func (l *eventLog) record(e *clientv3.Event) {
	l.events = append(l.events, e)
	l.bytes += heldBytes(e)
	l.last = e.Kv.ModRevision
	l.shorten()
}

// since returns the events from a revision on. It returns false if the log doesn't have all of these events.
func (l *eventLog) since(revision int64) ([]*clientv3.Event, bool) {
	if revision <= l.from {
		return nil, false
	}
	first, _ := slices.BinarySearchFunc(l.events, revision, func(e *clientv3.Event, from int64) int { return int(e.Kv.ModRevision - from) })
	return l.events[first:], true
}

// shorten removes the older half of a log that exceeds its bounds. It repeats the removal until the log is within
// the bounds, or has at most one event.
func (l *eventLog) shorten() {
	for len(l.events) > 1 && (l.bytes > maxLogBytes || len(l.events) > maxLogEvents) {
		half := len(l.events) - len(l.events)/2
		l.from = max(l.from, l.events[half-1].Kv.ModRevision)
		for half < len(l.events) && l.events[half].Kv.ModRevision <= l.from {
			half++ // events of one transaction stay together
		}
		l.events = slices.Clone(l.events[half:])
		l.bytes = 0
		for _, e := range l.events {
			l.bytes += heldBytes(e)
		}
	}
}

// heldBytes returns the length of an event's value and previous value. The event of a deletion has a previous value
// only.
func heldBytes(e *clientv3.Event) int { return len(e.Kv.GetValue()) + len(e.PrevKv.GetValue()) }

// complete adds the previous value to an event, from etcd's store. It returns false if etcd has compacted the
// previous value.
func complete(store mvcc.KV, e *clientv3.Event) bool {
	if e.PrevKv != nil || e.IsCreate() {
		return true
	}
	r, err := store.Range(context.Background(), e.Kv.Key, nil, mvcc.RangeOptions{Rev: e.Kv.ModRevision - 1})
	if err != nil || len(r.KVs) == 0 {
		return false
	}
	e.PrevKv = r.KVs[0]
	return true
}
