package storage

import (
	"context"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// maxTxnOps is how many keys a transaction of the member may write; etcd's own default.
const maxTxnOps = 128

// Record is an object as it is stored.
type Record struct {
	key   string
	value []byte
}

// Create stores records whose keys have nothing yet, many in a revision: writing them one by one takes
// several times as long. Nobody can watch from before them: a watch that was resumed in the middle of
// a revision would miss the rest of it.
func (m *Member) Create(ctx context.Context, records []Record) error {
	var revision int64
	for together := range slices.Chunk(records, maxTxnOps) {
		var free []clientv3.Cmp
		var puts []clientv3.Op
		for _, r := range together {
			free = append(free, clientv3.Compare(clientv3.CreateRevision(r.key), "=", 0))
			puts = append(puts, clientv3.OpPut(r.key, string(r.value)))
		}
		done, err := m.client.KV.Txn(ctx).If(free...).Then(puts...).Commit()
		if err != nil {
			return fmt.Errorf("storing %d objects: %w", len(together), err)
		}
		if !done.Succeeded {
			return fmt.Errorf("storing %d objects, %s among them: one of them is there already", len(together), together[0].key)
		}
		revision = done.Header.Revision
	}
	m.hub.begin(revision)
	return nil
}
