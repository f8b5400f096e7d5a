package storage

import (
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

const (
	// maxTxnOps is the number of keys that a transaction of the member may write. It is etcd's default.
	maxTxnOps = 128
	// maxTxnBytes is the size of the values that are written together. etcd allows requests of 1.5 MiB, with all the rest.
	// A larger value is written alone.
	maxTxnBytes = 1 << 20
)

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
	for len(records) > 0 {
		together := records[:firstTransaction(records)]
		records = records[len(together):]
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

// firstTransaction returns how many of the records are written in the first transaction.
func firstTransaction(records []Record) int {
	size := 0
	for n, r := range records {
		if size += len(r.value); n > 0 && size > maxTxnBytes || n == maxTxnOps {
			return n
		}
	}
	return len(records)
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

// SetRevision sets the resourceVersion of an object that is stored at a revision.
func SetRevision(obj runtime.Object, revision int64) error {
	return storage.APIObjectVersioner{}.UpdateObject(obj, uint64(revision))
}
