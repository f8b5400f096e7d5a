package storage

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/klog/v2"
)

// compaction removes old revisions of keys from etcd. Like the compactor of k8s.io/apiserver, it runs once an
// interval and removes revisions older than the interval. The compactor of k8s.io/apiserver also coordinates with
// other API servers on the same etcd; this etcd has only one API server.
type compaction struct {
	mu       sync.Mutex
	cancel   context.CancelFunc
	done     chan struct{}
	revision atomic.Int64
}

var _ etcd3.Compactor = (*compaction)(nil)

// CompactRevision returns the revision of the last compaction, or 0 before the first.
func (c *compaction) CompactRevision() int64 { return c.revision.Load() }

// start starts the compaction, unless it already runs or the interval is 0. It returns c.
func (c *compaction) start(client *clientv3.Client, interval time.Duration) etcd3.Compactor {
	c.mu.Lock()
	defer c.mu.Unlock()
	if interval > 0 && c.cancel == nil {
		ctx, cancel := context.WithCancel(client.Ctx())
		c.cancel, c.done = cancel, make(chan struct{})
		go c.run(ctx, client, interval)
	}
	return c
}

func (c *compaction) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
		<-c.done
	}
}

func (c *compaction) run(ctx context.Context, client *clientv3.Client, interval time.Duration) {
	defer close(c.done)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for logicalTime, revision := int64(0), int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var compacted int64
		var err error
		logicalTime, revision, compacted, err = etcd3.Compact(ctx, client, logicalTime, revision)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "etcd compaction failed")
		}
		c.revision.Store(max(compacted, c.revision.Load()))
	}
}
