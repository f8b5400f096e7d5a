package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sync"
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/etcdserver"
)

// Options are the folder of a member's data and the log of its errors.
type Options struct {
	// DataDir keeps the data, with fsync, for the next start. The folder is made if it doesn't exist. One process at a
	// time can hold it. If DataDir is empty, the data is in a temporary folder, without fsync, which Stop removes.
	DataDir string

	// TempDir is the parent of temporary folders. If it is empty, they are in /dev/shm if that is a tmpfs with enough
	// room, else in os.TempDir().
	TempDir string

	// Holder is written to the data folder beside the process id, for example the address that is served. The error of
	// a second server with the same folder shows it.
	Holder string

	// LogTo gets etcd's own errors, one line of JSON each. Nil drops them. The error of Start has its cause in either
	// case.
	LogTo io.Writer
}

// Member is a running etcd of one member. Its methods may be called concurrently. It has many methods, because all
// features of the package (stores, snapshots, feeds, counts) begin with the member.
type Member struct {
	folder *Folder
	trap   *trap
	server *etcdserver.EtcdServer
	gate   *gate
	client *kubernetes.Client // shared by all stores; has neither endpoint nor connection
	hub    *hub

	compaction compaction
	clock      *stopClock
	counts     counts
	feeds      feeds
	caches     caches
	running    sync.WaitGroup // goroutines that end with the stores

	mu       sync.Mutex
	stores   map[*destroyer]struct{} // nil once the member is stopping
	stopOnce sync.Once
	stopped  chan struct{}
	stopErr  error // set before stopped is closed
}

// Start starts a member and returns when the member can serve its first write. The context bounds the start alone.
func Start(ctx context.Context, o Options) (*Member, error) {
	folder, err := Open(o)
	if err != nil {
		return nil, err
	}
	return folder.Start(ctx)
}

// Open opens the folder of the options, for a caller that keeps other files beside the member's. The caller must call
// Start or Close.
func Open(o Options) (*Folder, error) {
	folder, err := o.open()
	if err != nil {
		return nil, err
	}
	folder.options = o
	return folder, nil
}

func (o Options) open() (*Folder, error) {
	if o.DataDir != "" {
		return openDataFolder(o.DataDir, o.Holder)
	}
	if o.TempDir != "" {
		return openTemporaryFolder(o.TempDir)
	}
	return openTemporaryFolder(temporaryBases()...)
}

// Start starts a member in the folder, like the function Start. If that fails, Start closes the folder.
func (f *Folder) Start(ctx context.Context) (*Member, error) {
	m, err := f.start(ctx)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("etcd in %q: %w", f.path, err)
	}
	return m, nil
}

func (f *Folder) start(ctx context.Context) (*Member, error) {
	supportProgress()
	trap := newTrap()
	server, err := startServer(ctx, f, trap, newLogger(f.options.LogTo, trap))
	if err != nil {
		return nil, err
	}
	gate := &gate{}
	client, hub := newClient(server, gate)
	return &Member{
		folder:  f,
		trap:    trap,
		server:  server,
		gate:    gate,
		client:  client,
		hub:     hub,
		clock:   newStopClock(),
		stores:  map[*destroyer]struct{}{},
		stopped: make(chan struct{}),
	}, nil
}

// Client returns the client of etcd that all stores of the member share. Only Stop may close it.
func (m *Member) Client() *kubernetes.Client { return m.client }

// Failed is closed when etcd has met an error that it can't survive, such as a full disk. The folder has every write
// that was answered. The member serves nothing any more; call Stop, which returns the reason.
func (m *Member) Failed() <-chan struct{} { return m.trap.sprung }

// Healthy reports whether the member answers a read that goes through consensus. kube-apiserver asks its etcd the same
// in /livez/etcd and /readyz/etcd-readiness.
func (m *Member) Healthy(ctx context.Context) error {
	if err := m.trap.failure(); err != nil {
		return fmt.Errorf("etcd has failed: %w", err)
	}
	if _, err := m.client.KV.Get(ctx, path.Join("/", "health")); err != nil {
		return fmt.Errorf("error getting data from etcd: %w", err)
	}
	return nil
}

// hurried bounds the wait of a read for its resource version while the server stops. Writes before that are seen within
// a few milliseconds.
const hurried = 100 * time.Millisecond

// Hurry is called when a server begins to stop: a read that waits for a resource version may wait for a write that
// never comes, and must not delay the stop.
func (m *Member) Hurry() { m.clock.hurry(hurried) }

// Stop destroys the remaining stores of the member, stops etcd, and closes its folder, which removes it if it is
// temporary. After Stop has returned nil, no goroutine and no file of a temporary member is left. If etcd has failed,
// Stop returns the reason. If the context ends first, Stop returns an error and the stop continues. A second call waits
// for the first.
func (m *Member) Stop(ctx context.Context) error {
	m.stopOnce.Do(func() { go m.stop() })
	select {
	case <-m.stopped:
		return m.stopErr
	case <-ctx.Done():
		return fmt.Errorf("etcd in %q is still stopping: %w", m.folder.path, ctx.Err())
	}
}

// stop ends clients of the database before the database: etcd itself protects the database by its gRPC server, which a
// member doesn't have.
func (m *Member) stop() {
	defer close(m.stopped)
	m.compaction.stop()
	m.counts.end()
	m.destroyStores()
	m.clock.stop()
	_ = m.client.Close() // the error is the client's own cancellation
	m.running.Wait()
	m.gate.shut()
	stopServer(m.server, m.trap)
	m.stopErr = errors.Join(m.trap.failureOf(m.folder.path), m.folder.Close())
}
