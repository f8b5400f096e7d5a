package storage

import (
	"context"
	"errors"
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

	// temporarySnapshotCount is after how many entries a temporary member's log may be cut. That is memory, or the little
	// that containers have of it in /dev/shm, and etcd's default would keep ten thousand objects as they were written.
	temporarySnapshotCount = 1000

	// maxRequestBytes is etcd's default.
	maxRequestBytes = 1536 << 10

	// campaignRetry is how long a refused election waits for the next attempt.
	campaignRetry = 200 * time.Microsecond

	// leadTimeout bounds how long the first commit of a start may take: milliseconds, but where many members
	// start at a time.
	leadTimeout = time.Minute

	// failedStopTimeout is how long the stop of an etcd that has failed may take.
	failedStopTimeout = time.Second
)

// segments shortens the write-ahead log's segments. etcd keeps their length in a variable of the
// process, so it is written once, before the first member.
var segments = sync.OnceFunc(func() { wal.SegmentSizeBytes = segmentBytes })

// startServer starts etcd in the folder and waits until it has committed its first entry.
func startServer(ctx context.Context, folder *Folder, trap *trap, logger *zap.Logger) (*etcdserver.EtcdServer, error) {
	segments()
	cfg := serverConfig(folder, logger)
	var snapshot uint64
	err := trap.guard(func() (err error) {
		snapshot, err = checkFiles(cfg, folder.holder.Unused)
		return err
	})
	if err != nil {
		return nil, err
	}
	if snapshot == 0 && !folder.holder.Temporary {
		if err := found(ctx, cfg, trap); err != nil {
			return nil, err
		}
	}
	server, err := runServer(ctx, cfg, trap)
	if err != nil {
		return nil, err
	}
	if err := folder.use(); err != nil {
		stopServer(server, trap)
		return nil, err
	}
	return server, nil
}

// found puts the member's own membership behind a snapshot, so that each later start finds it
// applied and can campaign at once. Where it is still to be applied, raft reads the log for it, and
// etcd may be dropping that from memory at the same time, which raft doesn't survive.
func found(ctx context.Context, cfg config.ServerConfig, trap *trap) error {
	cfg.SnapshotCount = 1
	server, err := runServer(ctx, cfg, trap)
	if err != nil {
		return err
	}
	stopServer(server, trap)
	return trap.failure()
}

func runServer(ctx context.Context, cfg config.ServerConfig, trap *trap) (*etcdserver.EtcdServer, error) {
	awaitLog(cfg.WALDir())
	var server *etcdserver.EtcdServer
	err := trap.guard(func() (err error) {
		server, err = etcdserver.NewServer(cfg)
		return err
	})
	if err != nil {
		return nil, err
	}
	_ = campaign(ctx, server) // it is repeated
	server.Start()
	if err := lead(ctx, server, trap); err != nil {
		stopServer(server, trap)
		return nil, err
	}
	return server, nil
}

// stopServer stops etcd. One that has failed may have lost a goroutine that the stop waits for.
func stopServer(server *etcdserver.EtcdServer, trap *trap) {
	if trap.failure() == nil {
		server.HardStop()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), failedStopTimeout)
	defer cancel()
	go server.HardStop()
	select {
	case <-server.StopNotify():
	case <-ctx.Done():
	}
}

// serverConfig is the configuration of a cluster of one that nobody dials: the peer URL only gives
// the member its identity. Values without a comment are the defaults of etcd's command line.
func serverConfig(folder *Folder, logger *zap.Logger) config.ServerConfig {
	peers := types.URLs{url.URL{Scheme: "unix", Host: memberName}}
	snapshotCount := uint64(etcdserver.DefaultSnapshotCount)
	if folder.holder.Temporary {
		snapshotCount = temporarySnapshotCount
	}
	return config.ServerConfig{
		Name:                memberName,
		DataDir:             folder.path,
		UnsafeNoFsync:       folder.holder.Temporary,
		PeerURLs:            peers,
		InitialPeerURLsMap:  types.URLsMap{memberName: peers},
		InitialClusterToken: memberName,
		NewCluster:          true,

		// The member doesn't wait for a tick to become leader (see lead), so ticks needn't be fast.
		TickMs:        100,
		ElectionTicks: 10,
		PreVote:       true,

		SnapshotCount:          snapshotCount,
		SnapshotCatchUpEntries: 100, // in memory, for slow followers, of which there are none
		MaxSnapFiles:           5,
		MaxWALFiles:            5,

		// Compaction is the business of the API server (see compaction).
		QuotaBackendBytes: 8 << 30,
		MaxTxnOps:         maxTxnOps,
		MaxRequestBytes:   maxRequestBytes,

		// Zero would describe every single request in a warning that is then dropped.
		WarningApplyDuration:        time.Second,
		WarningUnaryRequestDuration: time.Second,

		BcryptCost:        uint(bcrypt.DefaultCost),
		Logger:            logger,
		ServerFeatureGate: features.NewDefaultServerFeatureGate(memberName, logger),
	}
}

// campaign asks the member to become leader at once, by a leadership transfer to itself; left alone,
// it would wait for an election timeout. Raft refuses at the very first start, until it has applied
// the member's own membership.
func campaign(ctx context.Context, server *etcdserver.EtcdServer) error {
	self := uint64(server.MemberID())
	transfer := &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), From: &self, To: &self}
	if err := server.Process(ctx, transfer); err != nil {
		return fmt.Errorf("electing the only member: %w", err)
	}
	return nil
}

// lead waits until the member leads and has said so in its log, asking again while it is refused.
func lead(ctx context.Context, server *etcdserver.EtcdServer, trap *trap) error {
	ctx, cancel := context.WithTimeout(ctx, leadTimeout)
	defer cancel()
	retry := time.NewTicker(campaignRetry)
	defer retry.Stop()
	for {
		select {
		case <-server.ReadyNotify():
			return nil
		case <-retry.C:
			if server.Lead() == uint64(server.MemberID()) {
				retry.Stop()
			} else if err := campaign(ctx, server); err != nil {
				return err
			}
		case <-trap.sprung:
			return trap.failure()
		case <-server.StopNotify():
			return errors.New("etcd stopped while it started")
		case <-ctx.Done():
			return fmt.Errorf("waiting for the first commit: %w", ctx.Err())
		}
	}
}
