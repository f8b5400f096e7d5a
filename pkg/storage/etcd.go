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

	// segmentBytes is the length of a segment of the write-ahead log. etcd allocates two segments before its first
	// write. etcd's default, 64 MB each, takes 30 ms and 128 MB of memory on a tmpfs.
	segmentBytes = 2 << 20

	// temporarySnapshotCount is the number of entries after which a temporary member's log may be cut. The log takes
	// memory, or the little space that containers have in /dev/shm. etcd's default would keep the writes of ten
	// thousand objects.
	temporarySnapshotCount = 1000

	// maxRequestBytes is etcd's default.
	maxRequestBytes = 1536 << 10

	// campaignRetry is the wait after a refused election.
	campaignRetry = 200 * time.Microsecond

	// leadTimeout bounds the first commit of a start, which takes milliseconds unless many members start at a time.
	leadTimeout = time.Minute

	// failedStopTimeout bounds the stop of an etcd that has failed.
	failedStopTimeout = time.Second
)

// segments shortens the segments of the write-ahead log. etcd keeps their length in a variable of the process, so
// segments sets it once, before the first member.
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

// found puts the member's own membership into a snapshot, so that a later start finds the membership applied and can
// campaign at once. If the membership is still to be applied, raft reads the log for it while etcd may drop those
// entries from memory, and raft doesn't survive that.
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
	_ = campaign(ctx, server) // an error has no effect: the campaign is repeated
	server.Start()
	if err := lead(ctx, server, trap); err != nil {
		stopServer(server, trap)
		return nil, err
	}
	return server, nil
}

// stopServer stops etcd. An etcd that has failed may lack a goroutine that the stop waits for.
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

// serverConfig is the configuration of a cluster of one member. Nothing connects to the peer URL: it only gives the
// member its identity. Values without a comment are the defaults of etcd's command line.
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

		// Ticks needn't be fast: the member doesn't wait for a tick to become leader (see lead).
		TickMs:        100,
		ElectionTicks: 10,
		PreVote:       true,

		SnapshotCount:          snapshotCount,
		SnapshotCatchUpEntries: 100, // for slow followers, which a single member doesn't have; the entries take memory
		MaxSnapFiles:           5,
		MaxWALFiles:            5,

		// The API server compacts (see compaction).
		QuotaBackendBytes: 8 << 30,
		MaxTxnOps:         maxTxnOps,
		MaxRequestBytes:   maxRequestBytes,

		// With zero, etcd would format a warning for every request and then drop it.
		WarningApplyDuration:        time.Second,
		WarningUnaryRequestDuration: time.Second,

		BcryptCost:        uint(bcrypt.DefaultCost),
		Logger:            logger,
		ServerFeatureGate: features.NewDefaultServerFeatureGate(memberName, logger),
	}
}

// campaign makes the member leader at once, by a transfer of leadership to itself: otherwise the member waits for an
// election timeout. At the very first start, raft refuses until it has applied the member's own membership.
func campaign(ctx context.Context, server *etcdserver.EtcdServer) error {
	self := uint64(server.MemberID())
	transfer := &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), From: &self, To: &self}
	if err := server.Process(ctx, transfer); err != nil {
		return fmt.Errorf("electing the only member: %w", err)
	}
	return nil
}

// lead waits until the member is leader and has written so to its log. It campaigns again while raft refuses.
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
			return errors.New("etcd stopped during its start")
		case <-ctx.Done():
			return fmt.Errorf("waiting for the first commit: %w", ctx.Err())
		}
	}
}
