package storage

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/klog/v2"
)

const (
	// largeDatabase is the size of the pages in use from which on a temporary database, which takes memory, is compacted
	// more often than once an interval. With kube-apiserver's interval of 5 minutes, 100,000 pods take 0.3 GB more.
	largeDatabase = 256 << 20
	// largeInterval is the interval of these compactions. So a list in pages has at least this time from its first page to
	// its last.
	largeInterval = time.Minute
)

// compaction removes old revisions of keys from etcd. Like the compactor of k8s.io/apiserver, it runs once an
// interval and removes revisions older than the interval. The compactor of k8s.io/apiserver also coordinates with
// other API servers on the same etcd; this etcd has only one API server.
type compaction struct {
	// isLarge reports whether the database needs a compaction before the end of the interval.
	isLarge func() bool

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
	for logicalTime, revision := int64(0), int64(0); c.wait(ctx, interval); {
		var compacted int64
		var err error
		logicalTime, revision, compacted, err = etcd3.Compact(ctx, client, logicalTime, revision)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "etcd compaction failed")
		}
		c.revision.Store(max(compacted, c.revision.Load()))
	}
}

// wait waits for the interval, or for a shorter one if the database is large then. It returns false if the context ends
// first.
func (c *compaction) wait(ctx context.Context, interval time.Duration) bool {
	_ = wait.PollUntilContextTimeout(ctx, largeInterval, interval, false, func(context.Context) (bool, error) { return c.isLarge(), nil })
	return ctx.Err() == nil
}
