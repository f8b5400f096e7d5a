package storage

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/feature"
)

// progressTimeout is for a process that has met an etcd without progress requests: the library then answers no for
// every etcd.
const progressTimeout = 100 * time.Millisecond

// supportProgress tells k8s.io/apiserver that its etcd answers progress requests. Without that, a watch cache neither
// serves consistent lists nor waits for a resource version. The library asks the endpoints of each client once a
// process, in the background; a member's client has no endpoint.
func supportProgress() {
	checker := feature.DefaultFeatureSupportChecker
	checker.CheckClient(context.Background(), embedded{}, storage.RequestWatchProgress)
	_ = wait.PollUntilContextTimeout(context.Background(), time.Millisecond, progressTimeout, true,
		func(context.Context) (bool, error) { return checker.Supports(storage.RequestWatchProgress), nil })
}

// embedded stands for the endpoint of every member.
type embedded struct{}

func (embedded) Endpoints() []string { return []string{"embedded"} }

func (embedded) Status(context.Context, string) (*clientv3.StatusResponse, error) {
	return &clientv3.StatusResponse{Version: version.Version}, nil
}

// promptStore is the store that keeps a watch cache up to date. The cache asks it for etcd's revision and then waits
// until it has seen that revision itself.
type promptStore struct {
	storage.Interface
	hub *hub
	key string // the key that the cache watches
}

// GetCurrentResourceVersion returns etcd's revision.
func (s *promptStore) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	revision, err := s.Interface.GetCurrentResourceVersion(ctx)
	if err == nil {
		s.hub.need(s.key, int64(revision))
	}
	return revision, err
}
