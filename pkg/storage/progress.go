package storage

import (
	"context"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/feature"
)

// progressTimeout is for a process that has met an etcd without progress requests: there the
// library's answer stays no, whoever else is asked.
const progressTimeout = 100 * time.Millisecond

// progressPeriod bounds how often a member is asked for progress: each answer goes to the watch
// caches of all its resources.
const progressPeriod = 2 * time.Millisecond

// supportProgress tells k8s.io/apiserver that its etcd answers progress requests, without which a watch
// cache neither serves consistent lists nor waits for a resource version. The library asks the
// endpoints of each client once a process, and in the background; a member's client has none.
func supportProgress() {
	checker := feature.DefaultFeatureSupportChecker
	checker.CheckClient(context.Background(), embedded{}, storage.RequestWatchProgress)
	_ = wait.PollUntilContextTimeout(context.Background(), time.Millisecond, progressTimeout, true,
		func(context.Context) (bool, error) { return checker.Supports(storage.RequestWatchProgress), nil })
}

// embedded stands for the endpoint that every member would have.
type embedded struct{}

func (embedded) Endpoints() []string { return []string{"embedded"} }

func (embedded) Status(context.Context, string) (*clientv3.StatusResponse, error) {
	return &clientv3.StatusResponse{Version: version.Version}, nil
}

// progress asks etcd how far it is as soon as a watch cache needs to know. A cache that serves a
// consistent read finds out etcd's revision and then waits until it has got that far itself, which
// in a quiet resource only a progress notification tells. The library asks for one every 100 ms.
type progress struct {
	needed chan struct{}
	asked  atomic.Uint64 // the revision up to which notifications have been asked for
}

func newProgress() *progress { return &progress{needed: make(chan struct{}, 1)} }

// need asks for a notification of the revision, unless that has been done.
func (p *progress) need(revision uint64) {
	for asked := p.asked.Load(); asked < revision; asked = p.asked.Load() {
		if p.asked.CompareAndSwap(asked, revision) {
			select {
			case p.needed <- struct{}{}:
			default: // one is on its way
			}
		}
	}
}

// run passes the requests on until the watcher's context ends.
func (p *progress) run(ctx context.Context, w clientv3.Watcher) {
	period := time.NewTimer(0)
	defer period.Stop()
	for {
		select {
		case <-period.C:
		case <-ctx.Done():
			return
		}
		select {
		case <-p.needed:
		case <-ctx.Done():
			return
		}
		_ = w.RequestProgress(ctx) // the library asks again
		period.Reset(progressPeriod)
	}
}

// promptStore is a store that a watch cache is kept up to date from.
type promptStore struct {
	storage.Interface
	progress *progress
}

// GetCurrentResourceVersion returns how far etcd is.
func (s *promptStore) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	revision, err := s.Interface.GetCurrentResourceVersion(ctx)
	if err == nil {
		s.progress.need(revision)
	}
	return revision, err
}
