package storage

import (
	"context"
	"net/url"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/features"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"golang.org/x/crypto/bcrypt"
)

const (
	memberName = "miniapi"

	// segmentBytes is the length of a segment of the write-ahead log. etcd allocates two segments before its first
	// write. With etcd's default of 64 MB for a segment, that takes 30 ms, and 128 MB of memory if the folder is on
	// a tmpfs.
	segmentBytes = 2 << 20

	// temporarySnapshotCount is the number of entries after which etcd may remove the older part of a temporary
	// member's log. The log takes memory, or the little space that containers have in /dev/shm. With etcd's
	// default, it would keep ten thousand writes.
	temporarySnapshotCount = 1000

	// maxRequestBytes is the largest request that etcd accepts. The value is etcd's default.
	maxRequestBytes = 1536 << 10

	// failedStopTimeout is the longest wait for an etcd that has failed: for its stop, and for the function of etcd
	// during which it failed (see trap.guard). The goroutines of such an etcd may never end.
	failedStopTimeout = time.Second
)

// segments sets the length of the segments of the write-ahead log. etcd keeps the length in a package variable, so
// segments sets it once a process, before the first member starts.
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
	switch {
	case folder.holder.Temporary:
		err = createDatabase(cfg.BackendPath())
	case snapshot == 0:
		err = firstStart(ctx, cfg, trap)
	}
	if err != nil {
		return nil, err
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

// firstStart makes the first start of a data folder. It runs etcd until a snapshot contains the member's own
// membership, and stops it. A later start finds the membership in the snapshot, and can campaign at once.
//
// Without the snapshot, the member would campaign while raft still has to read the membership from the log. etcd
// may drop these log entries from memory at the same time, and raft then panics.
func firstStart(ctx context.Context, cfg config.ServerConfig, trap *trap) error {
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
	_ = campaign(ctx, server) // an error doesn't matter: lead repeats the campaign
	server.Start()
	if err := lead(ctx, server, trap); err != nil {
		stopServer(server, trap)
		return nil, err
	}
	return server, nil
}

// stopServer stops etcd. It bounds the stop of an etcd that has failed: HardStop may wait for a goroutine that the
// failure has ended.
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

// serverConfig returns the configuration of an etcd with a single member. Nothing connects to the peer URL, which
// only identifies the member. The limits without a comment are the defaults of etcd's command line.
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

		// The ticks may be slow, because the member becomes leader without waiting for one: campaign elects it.
		TickMs:        100,
		ElectionTicks: 10,
		PreVote:       true,

		SnapshotCount:          snapshotCount,
		SnapshotCatchUpEntries: 100, // entries kept in memory for slow followers; a single member has none
		MaxSnapFiles:           5,
		MaxWALFiles:            5,

		// The fields for automatic compaction stay unset, because the API server compacts etcd (see type compaction).
		QuotaBackendBytes: 8 << 30, // the largest size that etcd recommends; the default is 2 GiB
		MaxTxnOps:         maxTxnOps,
		MaxRequestBytes:   maxRequestBytes,

		// With 0, etcd would format a warning about a slow request for every request.
		WarningApplyDuration:        time.Second,
		WarningUnaryRequestDuration: time.Second,

		BcryptCost:        uint(bcrypt.DefaultCost),
		Logger:            logger,
		ServerFeatureGate: features.NewDefaultServerFeatureGate(memberName, logger),
	}
}
