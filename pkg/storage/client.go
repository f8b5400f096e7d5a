package storage

import (
	"context"
	"io"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/api/v3/version"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/feature"
)

// newClient returns a client of etcd, and the hub that serves the client's watches. The client calls the server's
// RPC methods as functions, without a connection, as etcd's package v3client does. It differs from v3client in
// three ways: lists are streamed, watches go through the hub, and the gate can shut the client and wait for its
// last call.
func newClient(s *etcdserver.EtcdServer, g *gate) (*kubernetes.Client, *hub) {
	c := clientv3.NewCtxClient(context.Background(), clientv3.WithZapLogger(s.Logger()))

	kv := clientv3.NewKVFromKVClient(&kvClient{server: v3rpc.NewQuotaKVServer(s), gate: g}, c)
	c.KV = etcd3.NewETCDLatencyTracker(kv)

	lease := v3rpc.NewQuotaLeaseServer(s)
	c.Lease = clientv3.NewLeaseFromLeaseClient(&leaseClient{adapter.LeaseServerToLeaseClient(lease), g}, c, time.Second)

	watch := adapter.WatchServerToWatchClient(&watchServer{v3rpc.NewWatchServer(s), g})
	h := newHub(s.KV(), clientv3.NewWatchFromWatchClient(watch, c))
	c.Watcher = h

	maintenance := adapter.MaintenanceServerToMaintenanceClient(v3rpc.NewMaintenanceServer(s, nil))
	c.Maintenance = clientv3.NewMaintenanceFromMaintenanceClient(maintenance, c)

	k := &kubernetes.Client{Client: c}
	k.Kubernetes = k
	return k, h
}

// gate lets calls of the client into the etcd server, and counts the running calls. The database must not be closed
// while a call is running.
type gate struct {
	calls  sync.RWMutex // held for reading by each call
	closed bool
	writes sync.RWMutex // held for reading by each call that writes

	// running ends when etcd fails, and failure then returns the reason, as an error for API clients.
	running context.Context
	failure func() error
}

// enter begins a call. The caller must call calls.RUnlock afterwards, unless enter returns an error.
func (g *gate) enter() error {
	if err := g.failure(); err != nil {
		return err
	}
	g.calls.RLock()
	if g.closed {
		g.calls.RUnlock()
		return rpctypes.ErrGRPCStopped
	}
	return nil
}

// shut refuses new calls and waits for the last call to end.
func (g *gate) shut() {
	g.calls.Lock()
	g.closed = true
	g.calls.Unlock()
}

// settle waits until the running writes have ended. A write whose context ended before the call of settle then has its
// effect already, or never has one.
func (g *gate) settle() {
	g.writes.Lock()
	defer g.writes.Unlock()
}

// call calls a method of the server. The gate counts the call until the method returns.
func call[Request, Response any](ctx context.Context, g *gate, method func(context.Context, Request) (Response, error), r Request) (response Response, err error) {
	// With a context that has ended, the server would choose at random between an error and the write.
	if err := ctx.Err(); err != nil {
		return response, err
	}
	if err := g.enter(); err != nil {
		return response, err
	}
	defer g.calls.RUnlock()
	if response, err = method(ctx, r); err != nil {
		if failed := g.failure(); failed != nil {
			err = failed
		}
	}
	return response, err
}

// write calls a method of the server that writes. The end of ctx doesn't interrupt the method: etcd might then write later,
// when the caller no longer expects it. A failure of etcd does.
func write[Request, Response any](ctx context.Context, g *gate, method func(context.Context, Request) (Response, error), r Request) (Response, error) {
	g.writes.RLock()
	defer g.writes.RUnlock()
	return call(ctx, g, func(ctx context.Context, r Request) (Response, error) {
		return method(trace.ContextWithSpan(g.running, trace.SpanFromContext(ctx)), r)
	}, r)
}

// kvClient implements pb.KVClient by calls of a KVServer in the same process.
type kvClient struct {
	server pb.KVServer
	gate   *gate
}

var _ pb.KVClient = (*kvClient)(nil)

func (c *kvClient) Range(ctx context.Context, r *pb.RangeRequest, _ ...grpc.CallOption) (*pb.RangeResponse, error) {
	return call(ctx, c.gate, c.server.Range, r)
}

func (c *kvClient) Put(ctx context.Context, r *pb.PutRequest, _ ...grpc.CallOption) (*pb.PutResponse, error) {
	return write(ctx, c.gate, c.server.Put, r)
}

func (c *kvClient) DeleteRange(ctx context.Context, r *pb.DeleteRangeRequest, _ ...grpc.CallOption) (*pb.DeleteRangeResponse, error) {
	return write(ctx, c.gate, c.server.DeleteRange, r)
}

func (c *kvClient) Txn(ctx context.Context, r *pb.TxnRequest, _ ...grpc.CallOption) (*pb.TxnResponse, error) {
	return write(ctx, c.gate, c.server.Txn, r)
}

func (c *kvClient) Compact(ctx context.Context, r *pb.CompactionRequest, _ ...grpc.CallOption) (*pb.CompactionResponse, error) {
	return call(ctx, c.gate, c.server.Compact, r)
}

// RangeStream reads a list in chunks. etcd's adapter of a server to a client returns Unimplemented for this call.
// k8s.io/apiserver would then conclude that etcd is old, and would not stream any list in this process.
func (c *kvClient) RangeStream(ctx context.Context, r *pb.RangeRequest, _ ...grpc.CallOption) (pb.KV_RangeStreamClient, error) {
	if err := c.gate.enter(); err != nil {
		return nil, err
	}
	s := &rangeStream{ctx: ctx, chunks: make(chan *pb.RangeStreamResponse)}
	go func() {
		defer c.gate.calls.RUnlock()
		defer close(s.chunks)
		s.err = c.server.RangeStream(r, rangeStreamServer{rangeStream: s})
	}()
	return rangeStreamClient{rangeStream: s}, nil
}

// rangeStream carries the chunks of a list from the server to the client. If the client stops reading, it cancels
// its context, as a client of gRPC does.
type rangeStream struct {
	ctx    context.Context
	chunks chan *pb.RangeStreamResponse
	err    error // the server's error; set before chunks is closed
}

// rangeStreamServer is the server's end of a rangeStream. It implements only the methods of a gRPC stream that a
// list uses.
type rangeStreamServer struct {
	*rangeStream
	grpc.ServerStream
}

func (s rangeStreamServer) Context() context.Context { return s.ctx }

func (s rangeStreamServer) Send(chunk *pb.RangeStreamResponse) error {
	select {
	case s.chunks <- chunk:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// rangeStreamClient is the client's end of a rangeStream.
type rangeStreamClient struct {
	*rangeStream
	grpc.ClientStream
}

func (s rangeStreamClient) Context() context.Context { return s.ctx }

func (s rangeStreamClient) Recv() (*pb.RangeStreamResponse, error) {
	select {
	case chunk, ok := <-s.chunks:
		switch {
		case ok:
			return chunk, nil
		case s.err != nil:
			return nil, s.err
		default:
			return nil, io.EOF
		}
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// leaseClient sends the calls that grant or revoke a lease through the gate. Its other calls, such as LeaseKeepAlive,
// bypass the gate, because they don't read the database.
type leaseClient struct {
	pb.LeaseClient
	gate *gate
}

func (c *leaseClient) LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest, _ ...grpc.CallOption) (*pb.LeaseGrantResponse, error) {
	return call(ctx, c.gate, func(ctx context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
		return c.LeaseClient.LeaseGrant(ctx, r)
	}, r)
}

func (c *leaseClient) LeaseRevoke(ctx context.Context, r *pb.LeaseRevokeRequest, _ ...grpc.CallOption) (*pb.LeaseRevokeResponse, error) {
	return call(ctx, c.gate, func(ctx context.Context, r *pb.LeaseRevokeRequest) (*pb.LeaseRevokeResponse, error) {
		return c.LeaseClient.LeaseRevoke(ctx, r)
	}, r)
}

// watchServer counts each stream of watches as a running call of the gate, because the server reads the database for
// events with previous values.
type watchServer struct {
	pb.WatchServer
	gate *gate
}

func (s *watchServer) Watch(stream pb.Watch_WatchServer) error {
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.calls.RUnlock()
	return s.WatchServer.Watch(stream)
}

// withoutValues is a context that carries no values, and ends when the wrapped context ends. etcd's client uses one
// stream for all contexts with the same values. It sends a request for progress only on the stream of the request's
// context. Without values, all watches are on that stream.
type withoutValues struct{ context.Context }

func (withoutValues) Value(any) any { return nil }

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
