package storage

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/features"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"golang.org/x/crypto/bcrypt"
)

const (
	memberName = "miniapi"

	// segmentBytes is the length of a write-ahead log's segments. etcd allocates two of them before
	// its first write; 64 MB each, etcd's default, are 30 ms and 128 MB of memory on a tmpfs.
	segmentBytes = 2 << 20

	// campaignRetry is how long a refused election waits for the next attempt.
	campaignRetry = 200 * time.Microsecond
)

// segments shortens the write-ahead log's segments. etcd keeps their length in a variable of the
// process, so it is written once, before the first member.
var segments = sync.OnceFunc(func() { wal.SegmentSizeBytes = segmentBytes })

// startServer starts etcd in the folder and waits until it has committed its first entry.
func startServer(ctx context.Context, folder *folder, trap *trap, logger *zap.Logger) (*etcdserver.EtcdServer, error) {
	segments()
	cfg := serverConfig(folder, logger)
	var server *etcdserver.EtcdServer
	err := trap.guard(func() (err error) {
		if err := checkFiles(cfg); err != nil {
			return err
		}
		server, err = etcdserver.NewServer(cfg)
		return err
	})
	if err != nil {
		return nil, err
	}
	server.Start()
	if err := lead(ctx, server, trap); err != nil {
		server.HardStop()
		return nil, err
	}
	return server, nil
}

// serverConfig is the configuration of a cluster of one that nobody dials: the peer URL only gives
// the member its identity. Values without a comment are the defaults of etcd's command line.
func serverConfig(folder *folder, logger *zap.Logger) config.ServerConfig {
	peers := types.URLs{url.URL{Scheme: "unix", Host: memberName}}
	return config.ServerConfig{
		Name:                memberName,
		DataDir:             folder.path,
		UnsafeNoFsync:       folder.temporary,
		PeerURLs:            peers,
		InitialPeerURLsMap:  types.URLsMap{memberName: peers},
		InitialClusterToken: memberName,
		NewCluster:          true,

		// The member doesn't wait for a tick to become leader (see lead), so ticks needn't be fast.
		TickMs:        100,
		ElectionTicks: 10,
		PreVote:       true,

		SnapshotCount:          etcdserver.DefaultSnapshotCount,
		SnapshotCatchUpEntries: 10, // kept in memory for slow followers, of which there are none
		MaxSnapFiles:           5,
		MaxWALFiles:            5,

		// Compaction is the business of the API server (see compaction).
		QuotaBackendBytes: 8 << 30,
		MaxTxnOps:         128,
		MaxRequestBytes:   1.5 * 1024 * 1024,

		// Zero would describe every single request in a warning that is then dropped.
		WarningApplyDuration:        time.Second,
		WarningUnaryRequestDuration: time.Second,

		BcryptCost:        uint(bcrypt.DefaultCost),
		Logger:            logger,
		ServerFeatureGate: features.NewDefaultServerFeatureGate(memberName, logger),
	}
}

// lead makes the member its own leader and waits until it has said so in its log. Left alone, it
// would wait for an election timeout; a leadership transfer to itself asks for the election now.
// Raft refuses that until the member has applied its own membership, hence the loop.
func lead(ctx context.Context, server *etcdserver.EtcdServer, trap *trap) error {
	self := uint64(server.MemberID())
	retry := time.NewTicker(campaignRetry)
	defer retry.Stop()
	for ready := server.ReadyNotify(); ; {
		elected := server.LeaderChangedNotify()
		if server.Lead() != self {
			transfer := &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), From: &self, To: &self}
			if err := server.Process(ctx, transfer); err != nil {
				return fmt.Errorf("electing the only member: %w", err)
			}
		} else {
			elected = nil
			retry.Stop()
		}
		select {
		case <-ready:
			return nil
		case <-elected:
		case <-retry.C:
		case <-trap.sprung:
			return trap.failure()
		case <-server.StopNotify():
			return fmt.Errorf("etcd stopped while it started")
		case <-ctx.Done():
			return fmt.Errorf("waiting for the first commit: %w", ctx.Err())
		}
	}
}
