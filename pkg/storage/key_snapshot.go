package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
)

// restoreWorkers is the number of changes that Apply writes in parallel. Parallel writes are faster, because etcd
// commits writes that arrive together in one batch.
const restoreWorkers = 16

// Snapshot is a copy of all keys that a member stored under a prefix at one moment. It is in memory.
type Snapshot struct {
	prefix  string
	entries map[string]entry
}

type entry struct {
	value []byte
	lease clientv3.LeaseID
	// revision is the revision of the key's last write. It is 0 if the key doesn't exist.
	revision int64
}

// Change is a write of one key. Keys.Changes returns the writes that restore a Snapshot, and Record.Creation returns
// the write that creates a record.
type Change struct {
	Key string
	// Delete is true if the write deletes the key.
	Delete bool
	// Revision is the revision of the write, which Apply sets. It stays 0 if Apply didn't write, because another
	// client had written the key.
	Revision int64

	from, to entry
}

// Exists reports whether the key existed before the change.
func (c Change) Exists() bool { return c.from.revision != 0 }

// Snapshot takes a snapshot of the keys with the prefix.
func (k *Keys) Snapshot(ctx context.Context, prefix string) (*Snapshot, error) {
	entries, err := readKeys(ctx, k.member.client, prefix)
	if err != nil {
		return nil, fmt.Errorf("reading the keys below %s for a snapshot: %w", prefix, err)
	}
	return &Snapshot{prefix, entries}, nil
}

// With returns a snapshot that has the records besides the keys of s, and in place of those with the same keys.
func (s *Snapshot) With(records []Record) *Snapshot {
	entries := maps.Clone(s.entries)
	for _, record := range records {
		entries[record.key] = entry{value: record.value}
	}
	return &Snapshot{s.prefix, entries}
}

func readKeys(ctx context.Context, client *kubernetes.Client, prefix string) (map[string]entry, error) {
	found, err := client.KV.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	entries := make(map[string]entry, len(found.Kvs))
	for _, kv := range found.Kvs {
		entries[string(kv.Key)] = entry{kv.Value, clientv3.LeaseID(kv.Lease), kv.ModRevision}
	}
	return entries, nil
}

// Changes returns the changes that restore the keys of a snapshot. They include the effects of writes whose contexts ended
// before the call: such a write has no later effect.
func (k *Keys) Changes(ctx context.Context, s *Snapshot) ([]Change, error) {
	k.member.gate.settle()
	current, err := readKeys(ctx, k.member.client, s.prefix)
	if err != nil {
		return nil, fmt.Errorf("comparing the keys below %s with a snapshot: %w", s.prefix, err)
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

// Apply makes the changes. Each change has a revision of its own, like a write of an API server, so watches report it
// as usual. After Apply, reads have all changes, unless Apply returned an error or ctx ended. If another client has
// written a key since the call of Changes, Apply leaves the key as it is.
func (k *Keys) Apply(ctx context.Context, changes []Change) error {
	var wg sync.WaitGroup
	queue := make(chan *Change)
	errs := make([]error, min(restoreWorkers, len(changes)))
	for i := range errs {
		wg.Go(func() {
			for change := range queue {
				if err := applyChange(ctx, k.member.client, change); err != nil {
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
	k.member.caches.await(ctx, changes)
	return nil
}

func applyChange(ctx context.Context, client *kubernetes.Client, c *Change) error {
	op := clientv3.OpDelete(c.Key)
	if !c.Delete {
		op = clientv3.OpPut(c.Key, string(c.to.value), clientv3.WithLease(c.to.lease))
	}
	unchanged := clientv3.Compare(clientv3.ModRevision(c.Key), "=", c.from.revision)
	done, err := client.KV.Txn(ctx).If(unchanged).Then(op).Commit()
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		// The snapshot has the key, but the key's lease has expired: write the key without a lease.
		done, err = client.KV.Txn(ctx).If(unchanged).Then(clientv3.OpPut(c.Key, string(c.to.value))).Commit()
	}
	if err != nil {
		return err
	}
	if done.Succeeded {
		c.Revision = done.Header.Revision
	}
	return nil
}
