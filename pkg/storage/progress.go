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

// progressTimeout is for a process that has met an etcd without progress requests: there the
// library's answer stays no, whoever else is asked.
const progressTimeout = 100 * time.Millisecond

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

// promptStore is a store that a watch cache is kept up to date from. The cache asks it how far etcd
// is when it then waits until it is as far itself.
type promptStore struct {
	storage.Interface
	hub *hub
	key string // that the cache watches
}

// GetCurrentResourceVersion returns how far etcd is.
func (s *promptStore) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	revision, err := s.Interface.GetCurrentResourceVersion(ctx)
	if err == nil {
		s.hub.need(s.key, int64(revision))
	}
	return revision, err
}
