package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// maxTxnOps is how many keys a transaction of the member may write; etcd's own default.
const maxTxnOps = 128

// ErrExists says that there is something already where something was to be stored.
var ErrExists = errors.New("one of them is there already")

// Record is an object as it is stored.
type Record struct {
	key   string
	value []byte
}

// Create stores records whose keys have nothing yet, many in a revision: writing them one by one takes
// several times as long. From then on nobody can watch from before them, as long as the member runs: a watch that
// was resumed in the middle of a revision would miss the rest of it. The error is ErrExists if a key has something.
func (m *Member) Create(ctx context.Context, records []Record) error {
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
			return fmt.Errorf("storing %d objects, %s among them: %w", len(together), together[0].key, ErrExists)
		}
		m.hub.begin(done.Header.Revision)
	}
	return nil
}
