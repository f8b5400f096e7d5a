package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// maxTxnOps is the number of keys that a transaction of the member may write. It is etcd's default.
const maxTxnOps = 128

// ErrExists is the error for a key that exists already.
var ErrExists = errors.New("already exists")

// Record is an object in its stored form.
type Record struct {
	key   string
	value []byte
}

// Create stores records under new keys, many in one revision: one write for each would take several times as long. If a
// key exists, the error names it and wraps ErrExists.
//
// From then on, no watch can begin before the records, as long as the member runs: a watch that resumes in the middle
// of a revision would miss the rest of the revision.
func (m *Member) Create(ctx context.Context, records []Record) error {
	for together := range slices.Chunk(records, maxTxnOps) {
		var free []clientv3.Cmp
		var puts, gets []clientv3.Op
		for _, r := range together {
			free = append(free, clientv3.Compare(clientv3.CreateRevision(r.key), "=", 0))
			puts = append(puts, clientv3.OpPut(r.key, string(r.value)))
			gets = append(gets, clientv3.OpGet(r.key, clientv3.WithKeysOnly()))
		}
		done, err := m.client.KV.Txn(ctx).If(free...).Then(puts...).Else(gets...).Commit()
		if err != nil {
			return fmt.Errorf("storing %d objects: %w", len(together), err)
		}
		if !done.Succeeded {
			return fmt.Errorf("storing %d objects: %s %w", len(together), firstKey(done.Responses), ErrExists)
		}
		m.hub.begin(done.Header.Revision)
	}
	return nil
}

// firstKey returns the first key that was found.
func firstKey(gets []*pb.ResponseOp) string {
	for _, get := range gets {
		for _, found := range get.GetResponseRange().Kvs {
			return string(found.Key)
		}
	}
	return ""
}
