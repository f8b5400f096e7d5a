package storage

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// streamPage is the number of keys that a Stream reads at once.
const streamPage = 500

// Stream gives a reader all keys and values that a member stores below a prefix, and all their changes. The values
// are as the stores have written them. Unlike a Feed, a Stream has all resources, even those that have no store in
// this process, and decodes nothing.
type Stream struct {
	member *Member
	prefix string
}

// Stored is a key and its value.
type Stored struct {
	Key   string
	Value []byte
	// Deleted is true for a key that has been deleted. Value is then the last value.
	Deleted bool
}

// Stream returns the stream of the keys with a prefix.
func (k *Keys) Stream(prefix string) *Stream { return &Stream{k.member, prefix} }

// List calls the function each for every stored key, and returns the revision at which the keys were read.
func (s *Stream) List(ctx context.Context, each func(Stored)) (revision int64, err error) {
	from, end := s.prefix, clientv3.GetPrefixRangeEnd(s.prefix)
	for {
		page, err := s.member.client.KV.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(streamPage), clientv3.WithRev(revision))
		if err != nil {
			return 0, fmt.Errorf("listing the keys below %s: %w", s.prefix, err)
		}
		if revision == 0 {
			revision = page.Header.Revision
		}
		for _, kv := range page.Kvs {
			each(Stored{Key: string(kv.Key), Value: kv.Value})
		}
		if !page.More {
			return revision, nil
		}
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

// Watch begins a watch of the changes after a revision, which comes from a recent List. The watch calls notify when
// StreamWatch.Take has changes to return, and when the watch ends. After a call of StreamWatch.Reach, it also calls
// notify when it has all changes up to the revision that Reach returned. notify must not block.
func (s *Stream) Watch(revision int64, notify func()) (*StreamWatch, error) {
	w := newHubWatch(s.prefix, clientv3.GetPrefixRangeEnd(s.prefix), revision+1, notify)
	w.progress, w.lastValues = true, true
	if !s.member.hub.follow(w) {
		return nil, fmt.Errorf("watch of %s: etcd has dropped events since revision %d: list the keys again", s.prefix, revision)
	}
	return &StreamWatch{s.member, w}, nil
}

// StreamWatch is a watch of a Stream. Only its method Reach may be called concurrently with others.
type StreamWatch struct {
	member *Member
	watch  *hubWatch
}

// Take returns the changes since the last call, and the revision up to which the watch has received all changes.
// After an error, the watch has no more changes: list the stream again.
func (w *StreamWatch) Take() (changes []Stored, revision int64, err error) {
	select {
	case <-w.watch.ended:
		return nil, 0, fmt.Errorf("the watch of %s has ended: list the keys again", w.watch.key)
	default:
	}
	events, revision := w.watch.take()
	changes = make([]Stored, 0, len(events))
	for _, e := range events {
		change := Stored{Key: string(e.Kv.Key), Value: e.Kv.Value}
		if e.Type == clientv3.EventTypeDelete {
			change.Deleted, change.Value = true, e.PrevKv.GetValue()
		}
		changes = append(changes, change)
	}
	return changes, revision, nil
}

// Reach returns etcd's current revision. As soon as the watch has all changes up to this revision, Take returns
// this revision or a later revision.
func (w *StreamWatch) Reach() int64 {
	revision := w.member.server.KV().Rev()
	w.member.hub.need(w.watch.key, revision)
	return revision
}

// Stop ends the watch.
func (w *StreamWatch) Stop() { w.member.hub.leave(w.watch) }
