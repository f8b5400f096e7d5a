package external

import (
	"context"
	"net"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/features"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/egressselector"
)

// TestMain makes the segments of etcd's logs short: with etcd's default, each etcd would take 128 MB of the disk.
func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 2 << 20
	os.Exit(m.Run())
}

// startEtcd starts an etcd of one member, which listens on no port.
func startEtcd(t *testing.T) *etcdserver.EtcdServer {
	t.Helper()
	peers := types.URLs{url.URL{Scheme: "unix", Host: "test"}}
	logger := zap.NewNop()
	server, err := etcdserver.NewServer(config.ServerConfig{
		Name: "test", DataDir: t.TempDir(), UnsafeNoFsync: true,
		PeerURLs: peers, InitialPeerURLsMap: types.URLsMap{"test": peers}, InitialClusterToken: "test", NewCluster: true,
		TickMs: 1, ElectionTicks: 10,
		SnapshotCount: etcdserver.DefaultSnapshotCount, SnapshotCatchUpEntries: 100, MaxTxnOps: 128, MaxRequestBytes: 1 << 20,
		WarningApplyDuration: time.Minute, WarningUnaryRequestDuration: time.Minute,
		Logger: logger, ServerFeatureGate: features.NewDefaultServerFeatureGate("test", logger),
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.HardStop)
	<-server.ReadyNotify()
	return server
}

// serveEtcd serves the parts of etcd that Check and Announce call: status, keys and leases.
func serveEtcd(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	etcd := startEtcd(t)
	pb.RegisterMaintenanceServer(s, v3rpc.NewMaintenanceServer(etcd, nil))
	pb.RegisterKVServer(s, v3rpc.NewQuotaKVServer(etcd))
	pb.RegisterLeaseServer(s, v3rpc.NewQuotaLeaseServer(etcd))
	go s.Serve(l) //nolint:errcheck // Stop ends Serve
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

// dialCounter counts the connections to each server. It calls enough when each server has been dialed twice.
type dialCounter struct {
	servers int
	enough  func()

	mu    sync.Mutex
	dials map[string]int
	twice int
}

func (c *dialCounter) lookup(egressselector.NetworkContext) (utilnet.DialFunc, error) {
	return c.dial, nil
}

func (c *dialCounter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dials[address]++; c.dials[address] == 2 {
		if c.twice++; c.twice == c.servers {
			c.enough()
		}
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func (late) Deadline() (time.Time, bool) { return time.Unix(0, 0), true }
