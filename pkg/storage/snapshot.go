package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// restoreWorkers is how many changes are under way at a time: etcd commits together what comes
// together.
const restoreWorkers = 16

// Snapshot is what a member stored under a prefix at a moment. It is kept in memory.
type Snapshot struct {
	prefix  string
	entries map[string]entry
}

type entry struct {
	value []byte
	lease clientv3.LeaseID
	// revision is that of the last write of the key; 0 if there is none.
	revision int64
}

// Change is the write by which a key gets back what it had in a snapshot.
type Change struct {
	Key string
	// Delete says that it had nothing.
	Delete bool
	// Revision is that of the write, set by Apply; 0 if somebody else has written since.
	Revision int64

	from, to entry
}

// Exists says whether the key has something before the change.
func (c Change) Exists() bool { return c.from.revision != 0 }

// Snapshot takes a snapshot of the keys with the prefix.
func (m *Member) Snapshot(ctx context.Context, prefix string) (*Snapshot, error) {
	entries, err := m.read(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return &Snapshot{prefix, entries}, nil
}

func (m *Member) read(ctx context.Context, prefix string) (map[string]entry, error) {
	found, err := m.client.KV.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	entries := make(map[string]entry, len(found.Kvs))
	for _, kv := range found.Kvs {
		entries[string(kv.Key)] = entry{kv.Value, clientv3.LeaseID(kv.Lease), kv.ModRevision}
	}
	return entries, nil
}

// Changes are what takes the keys of the snapshot's prefix from what they are now to what they were.
func (m *Member) Changes(ctx context.Context, s *Snapshot) ([]Change, error) {
	current, err := m.read(ctx, s.prefix)
	if err != nil {
		return nil, fmt.Errorf("comparing with a snapshot: %w", err)
	}
	var changes []Change
	for key, is := range current {
		was, ok := s.entries[key]
		if !ok {
			changes = append(changes, Change{Key: key, Delete: true, from: is})
		} else if is.revision != was.revision && !bytes.Equal(is.value, was.value) {
			changes = append(changes, Change{Key: key, from: is, to: was})
		}
	}
	for key, was := range s.entries {
		if _, ok := current[key]; !ok {
			changes = append(changes, Change{Key: key, to: was})
		}
	}
	return changes, nil
}

// Apply makes changes, each in a revision of its own as every write of an API server is, so that
// watches tell of them like of any other, and what is read from then on has them. A key that
// somebody else has written meanwhile stays.
func (m *Member) Apply(ctx context.Context, changes []Change) error {
	var wg sync.WaitGroup
	queue := make(chan *Change)
	errs := make([]error, min(restoreWorkers, len(changes)))
	for i := range errs {
		wg.Go(func() {
			for change := range queue {
				if err := m.apply(ctx, change); err != nil {
					errs[i] = errors.Join(errs[i], fmt.Errorf("restoring %s: %w", change.Key, err))
				}
			}
		})
	}
	for i := range changes {
		queue <- &changes[i]
	}
	close(queue)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	m.caches.await(ctx, changes)
	return nil
}

func (m *Member) apply(ctx context.Context, c *Change) error {
	op := clientv3.OpDelete(c.Key)
	if !c.Delete {
		op = clientv3.OpPut(c.Key, string(c.to.value), clientv3.WithLease(c.to.lease))
	}
	unchanged := clientv3.Compare(clientv3.ModRevision(c.Key), "=", c.from.revision)
	done, err := m.client.KV.Txn(ctx).If(unchanged).Then(op).Commit()
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		// Its time is up, but it was there.
		done, err = m.client.KV.Txn(ctx).If(unchanged).Then(clientv3.OpPut(c.Key, string(c.to.value))).Commit()
	}
	if err != nil {
		return err
	}
	if done.Succeeded {
		c.Revision = done.Header.Revision
	}
	return nil
}
