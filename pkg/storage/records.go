package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// maxTxnOps is how many keys a transaction of the member may write; etcd's own default.
const maxTxnOps = 128

// ErrExists says that there is something already where something was to be stored.
var ErrExists = errors.New("already exists")

// Record is an object as it is stored.
type Record struct {
	key   string
	value []byte
}

// Create stores records whose keys have nothing yet, many in a revision: writing them one by one takes
// several times as long. If a key has something, the error names it and wraps ErrExists.
//
// From then on nobody can watch from before them, as long as the member runs: a watch that was resumed in the
// middle of a revision would miss the rest of it.
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

// firstKey is the first that was found.
func firstKey(gets []*pb.ResponseOp) string {
	for _, get := range gets {
		for _, found := range get.GetResponseRange().Kvs {
			return string(found.Key)
		}
	}
	return ""
}
