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
	// maxTxnOps is the number of keys that one transaction of a Member may write. The value is etcd's default.
	maxTxnOps = 128
	// maxTxnBytes bounds the total size of the values that Create writes in one transaction. etcd limits a whole
	// request to 1.5 MiB. A value that is larger than maxTxnBytes is written alone.
	maxTxnBytes = 1 << 20
)

// ErrExists is the error of Create for a key that already exists.
var ErrExists = errors.New("already exists")

// Record is an object, encoded as it is stored, with its key.
type Record struct {
	key      string
	value    []byte
	revision int64
}

// Revision returns the revision at which the record was stored, or 0 if it was not stored.
func (r Record) Revision() int64 { return r.revision }

// Key returns the key of the record.
func (r Record) Key() string { return r.key }

// Value returns the object of the record, encoded as it is stored. The caller must not change it.
func (r Record) Value() []byte { return r.value }

// Creation returns the change that creates the record. Keys.Apply makes the change. For records that are stored
// before watches begin, use Keys.Create.
func (r Record) Creation() Change { return Change{Key: r.key, to: entry{value: r.value}} }

// With returns a record of the same key with another value.
func (r Record) With(value []byte) Record { return Record{key: r.key, value: value} }

// Create stores records under new keys, and sets the revisions of the records. It writes many records in one
// transaction, because a transaction for each record would take several times as long. If a key exists, the error names
// the key and wraps ErrExists. After an error, the records of earlier transactions are stored.
//
// All keys of a transaction get the same revision. A watch that resumes in the middle of a revision would miss the
// rest of the revision. Therefore, no watch can begin before these records, as long as the member runs.
func (k *Keys) Create(ctx context.Context, records []Record) error {
	for len(records) > 0 {
		together := records[:firstTransaction(records)]
		records = records[len(together):]
		var free []clientv3.Cmp
		var puts, gets []clientv3.Op
		for _, r := range together {
			free = append(free, clientv3.Compare(clientv3.CreateRevision(r.key), "=", 0))
			put := clientv3.OpPut(r.key, "")
			put.WithValueBytes(r.value) // OpPut would copy it
			puts = append(puts, put)
			gets = append(gets, clientv3.OpGet(r.key, clientv3.WithKeysOnly()))
		}
		done, err := k.member.client.KV.Txn(ctx).If(free...).Then(puts...).Else(gets...).Commit()
		if err != nil {
			return fmt.Errorf("storing %d objects: %w", len(together), err)
		}
		if !done.Succeeded {
			return fmt.Errorf("storing %d objects: %s %w", len(together), firstKey(done.Responses), ErrExists)
		}
		for i := range together {
			together[i].revision = done.Header.Revision
		}
		k.member.hub.begin(done.Header.Revision)
	}
	return nil
}

// firstTransaction returns how many of the records, from the first, fit into one transaction.
func firstTransaction(records []Record) int {
	size := 0
	for n, r := range records {
		if size += len(r.value); n > 0 && size > maxTxnBytes || n == maxTxnOps {
			return n
		}
	}
	return len(records)
}

// firstKey returns the first key in the responses.
func firstKey(gets []*pb.ResponseOp) string {
	for _, get := range gets {
		for _, found := range get.GetResponseRange().Kvs {
			return string(found.Key)
		}
	}
	return ""
}

// SetRevision sets the resourceVersion of an object to the revision at which it is stored.
func SetRevision(obj runtime.Object, revision int64) error {
	return storage.APIObjectVersioner{}.UpdateObject(obj, uint64(revision))
}
