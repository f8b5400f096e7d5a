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

// progressTimeout bounds the wait of supportProgress. k8s.io/apiserver keeps a single result for all etcds of a
// process: whether they support progress requests. If the process has used an external etcd that doesn't support
// them, the result stays false, and the wait would never end.
const progressTimeout = 100 * time.Millisecond

// supportProgress makes k8s.io/apiserver check that a Member answers progress requests. Without this check, a watch
// cache doesn't serve consistent lists and doesn't wait for a resource version. k8s.io/apiserver checks each
// endpoint of a client once a process. A Member's client has no endpoint, so supportProgress passes a client of the
// type embedded, which has one endpoint.
func supportProgress() {
	checker := feature.DefaultFeatureSupportChecker
	checker.CheckClient(context.Background(), embedded{}, storage.RequestWatchProgress)
	_ = wait.PollUntilContextTimeout(context.Background(), time.Millisecond, progressTimeout, true,
		func(context.Context) (bool, error) { return checker.Supports(storage.RequestWatchProgress), nil })
}

// embedded is a client with a single endpoint. This endpoint represents every Member.
type embedded struct{}

func (embedded) Endpoints() []string { return []string{"embedded"} }

func (embedded) Status(context.Context, string) (*clientv3.StatusResponse, error) {
	return &clientv3.StatusResponse{Version: version.Version}, nil
}
