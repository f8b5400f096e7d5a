package storage

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// Keys reads and writes the keys and values of a member, as bytes, without the stores of resources. Its methods may be
// called concurrently.
type Keys struct{ member *Member }

// Keys returns the keys and values of the member.
func (m *Member) Keys() *Keys { return &Keys{m} }

// Revision returns the revision of the last write.
func (k *Keys) Revision(ctx context.Context) (int64, error) {
	answer, err := k.member.client.KV.Get(ctx, "/", clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("reading the revision of etcd: %w", err)
	}
	return answer.Header.Revision, nil
}

// CreatedSince returns the records below a prefix that were created after a revision, with the revisions of their
// last writes. alone is false if keys from before the revision were written too, or if a record expires.
// CreatedSince then returns no records. Deleted keys don't count.
func (k *Keys) CreatedSince(ctx context.Context, prefix string, revision int64) (records []Record, alone bool, err error) {
	written, err := k.member.client.KV.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithMinModRev(revision+1))
	if err != nil {
		return nil, false, fmt.Errorf("reading the keys below %s that were written after revision %d: %w", prefix, revision, err)
	}
	for _, kv := range written.Kvs {
		if kv.CreateRevision <= revision || kv.Lease != 0 {
			return nil, false, nil
		}
		records = append(records, Record{key: string(kv.Key), value: kv.Value, revision: kv.ModRevision})
	}
	return records, true, nil
}

// Count returns the number of keys with a prefix.
func (k *Keys) Count(ctx context.Context, prefix string) (int64, error) {
	if err := k.member.gate.enter(); err != nil {
		return 0, err
	}
	defer k.member.gate.calls.RUnlock()
	r, err := k.member.server.KV().Range(ctx, []byte(prefix), []byte(clientv3.GetPrefixRangeEnd(prefix)), mvcc.RangeOptions{CountOnly: true})
	if err != nil {
		return 0, err
	}
	return int64(r.Count), nil
}
