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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Options are the options of a Member: where its data is kept, and where its errors are logged.
type Options struct {
	// DataDir is the folder in which the data is kept for the next start. The member writes the data with fsync. It
	// makes the folder if it doesn't exist. Only one member at a time can hold the folder. If DataDir is empty,
	// the member writes the data to a temporary folder without fsync, and Stop removes the folder.
	DataDir string

	// TempDir is the parent of temporary folders. If TempDir is empty, they are in /dev/shm if that is a tmpfs with
	// enough room, and in os.TempDir() otherwise.
	TempDir string

	// Holder describes this server to other processes, for example by its address. If a second server is started
	// with the same data folder, the second server's error shows Holder and the process id of the first.
	Holder string

	// LogTo receives the errors that etcd logs, one line of JSON each. If LogTo is nil, the member drops these
	// errors. The error of Start contains its cause even then.
	LogTo io.Writer
}

// Member is a running etcd of one member. Its methods may be called concurrently.
type Member struct {
	folder *Folder
	trap   *trap
	server *etcdserver.EtcdServer
	gate   *gate
	client *kubernetes.Client // shared by all stores; calls the server without a connection
	hub    *hub

	compaction compaction
	clock      *stopClock
	counts     counts
	feeds      feeds
	caches     caches
	running    sync.WaitGroup // goroutines of the stores

	mu       sync.Mutex
	stores   map[*destroyer]struct{} // nil when the member is stopping
	stopOnce sync.Once
	stopped  chan struct{}
	stopErr  error // the result of Stop; set before stopped is closed
}

// Start starts a member, and returns when it can serve its first write. If ctx ends later, the member goes on.
func Start(ctx context.Context, o Options) (*Member, error) {
	folder, err := Open(o)
	if err != nil {
		return nil, err
	}
	return folder.Start(ctx)
}

// Open opens the folder of the options. A caller that keeps files of its own in the folder uses Open, and then
// Start or Close; other callers use the function Start.
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

// Start starts a member in the folder, like the function Start. If the start fails, Start closes the folder.
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
	// Without the goroutine that has failed, etcd answers no call, and its calls end only with etcd.
	context.AfterFunc(trap.running, server.HardStop)
	gate := &gate{running: trap.running, failure: func() error {
		if err := trap.failureOf(f.path); err != nil {
			return apierrors.NewInternalError(err)
		}
		return nil
	}}
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
		compaction: compaction{isLarge: func() bool {
			return f.holder.Temporary && server.Backend().SizeInUse() >= largeDatabase
		}},
	}, nil
}

// Client returns the client of etcd that all stores of the member share. Only Stop may close it.
func (m *Member) Client() *kubernetes.Client { return m.client }

// Failed returns a channel that is closed when etcd fails with an error from which it can't recover, such as a full
// disk. A member that has failed doesn't serve requests: call Stop, which returns the error. The folder has every
// write that was answered.
func (m *Member) Failed() <-chan struct{} { return m.trap.running.Done() }

// Healthy returns nil if etcd answers a read that needs consensus. kube-apiserver makes such a read for /livez/etcd and
// /readyz/etcd-readiness.
func (m *Member) Healthy(ctx context.Context) error {
	if err := m.trap.failure(); err != nil {
		return fmt.Errorf("etcd has failed: %w", err)
	}
	if _, err := m.client.KV.Get(ctx, path.Join("/", "health")); err != nil {
		return fmt.Errorf("error getting data from etcd: %w", err)
	}
	return nil
}

// hurried bounds the time for which a read waits for its resource version while the server stops. A write from
// before the stop reaches the watch caches within a few milliseconds.
const hurried = 100 * time.Millisecond

// Hurry must be called when the server begins to stop. From then on, a read waits at most 100 ms for its resource
// version, because the write with that version may never come.
func (m *Member) Hurry() { m.clock.hurry(hurried) }

// Stop destroys the remaining stores of the member, stops etcd, and closes the folder. A temporary folder is
// removed. After Stop has returned nil, no goroutine and no file of a temporary member is left. If etcd has failed,
// Stop returns the reason. If the context ends first, Stop returns an error and the stop continues. A second call
// waits for the first.
func (m *Member) Stop(ctx context.Context) error {
	m.stopOnce.Do(func() { go m.stop() })
	select {
	case <-m.stopped:
		return m.stopErr
	case <-ctx.Done():
		return fmt.Errorf("etcd in %q is still stopping: %w", m.folder.path, ctx.Err())
	}
}

// stop ends all clients of the database before it closes the database. In a normal etcd, the gRPC server waits for
// running calls. A Member has no gRPC server, so stop itself waits for running calls.
func (m *Member) stop() {
	defer close(m.stopped)
	m.compaction.stop()
	m.counts.end()
	m.destroyStores()
	m.clock.stop()
	_ = m.client.Close() // the error is only that the client's own context is cancelled
	m.running.Wait()
	m.gate.shut()
	stopServer(m.server, m.trap)
	m.stopErr = errors.Join(m.trap.failureOf(m.folder.path), m.folder.Close())
}
