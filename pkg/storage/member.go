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

// Options say where a member keeps its data and whom it tells about trouble.
type Options struct {
	// DataDir keeps the data, with fsync, for the next start. It is made if it doesn't exist, and
	// held by one process at a time. Empty: a temporary folder, without fsync, removed by Stop.
	DataDir string

	// TempDir is where temporary folders are made. Empty: /dev/shm if it is a tmpfs with room,
	// else os.TempDir().
	TempDir string

	// Holder says in the data folder who holds it, beside the process id: the address that is
	// served, for example. The error that a second server gets shows it.
	Holder string

	// LogTo gets etcd's own errors, a line of JSON each. Nil drops them. What makes Start fail is in
	// its error in either case.
	LogTo io.Writer

	// Yield is called before a watch passes events on: what it lets happen first goes with them. Nil
	// lets nothing happen.
	Yield func()
}

// Member is a running etcd of one member. Its methods may be called concurrently.
type Member struct {
	folder *Folder
	trap   *trap
	server *etcdserver.EtcdServer
	gate   *gate
	client *kubernetes.Client // shared by all stores; it has no endpoint and no connection
	hub    *hub

	compaction compaction
	clock      *stopClock
	counts     counts
	feeds      feeds
	caches     caches
	running    sync.WaitGroup // what ends with the stores

	mu       sync.Mutex
	stores   map[*destroyer]struct{} // nil once the member is stopping
	stopOnce sync.Once
	stopped  chan struct{}
	stopErr  error // set before stopped is closed
}

// Start starts a member and returns when it can serve its first write. The context bounds the
// start alone.
func Start(ctx context.Context, o Options) (*Member, error) {
	folder, err := Open(o)
	if err != nil {
		return nil, err
	}
	return folder.Start(ctx)
}

// Open takes the folder that the options ask for, for a caller who has something to keep beside the
// member's files. Either Start or Close follows.
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

// Start starts a member in the folder, as the function Start does, and gives the folder up if it fails.
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
	yield := f.options.Yield
	if yield == nil {
		yield = func() {}
	}
	client, hub := newClient(server, gate, yield)
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

// Client is for what needs etcd itself. It is the one that all stores of the member share: nobody
// but Stop may close it.
func (m *Member) Client() *kubernetes.Client { return m.client }

// Failed is closed when etcd has met what it can't survive, such as a full disk. What was answered is
// in the folder, and the member serves nothing any more: Stop is all that is left, and says why.
func (m *Member) Failed() <-chan struct{} { return m.trap.sprung }

func (m *Member) failure() error {
	if err := m.trap.failure(); err != nil {
		return fmt.Errorf("etcd in %q has failed: %w", m.folder.path, err)
	}
	return nil
}

// Healthy reports whether the member answers a read that goes through consensus: what
// kube-apiserver asks its etcd in /livez/etcd and /readyz/etcd-readiness.
func (m *Member) Healthy(ctx context.Context) error {
	if err := m.trap.failure(); err != nil {
		return fmt.Errorf("etcd has failed: %w", err)
	}
	if _, err := m.client.KV.Get(ctx, path.Join("/", "health")); err != nil {
		return fmt.Errorf("error getting data from etcd: %w", err)
	}
	return nil
}

// hurried is how long a read may wait for its resource version when the server stops: what is written
// until then is seen within a few milliseconds.
const hurried = 100 * time.Millisecond

// Hurry is for a server that begins to stop: reads that wait for a resource version that nobody may ever write
// don't hold it up.
func (m *Member) Hurry() { m.clock.hurry(hurried) }

// Stop destroys what is left of the member's stores, stops etcd, and gives up its folder, removing
// it if it is temporary. When it has returned nil, no goroutine and no file of a temporary member
// is left. If etcd has failed, the error is why. If the context ends first, the stop goes on behind
// the error. A second call waits for the first.
func (m *Member) Stop(ctx context.Context) error {
	m.stopOnce.Do(func() { go m.stop() })
	select {
	case <-m.stopped:
		return m.stopErr
	case <-ctx.Done():
		return fmt.Errorf("etcd in %q is still stopping: %w", m.folder.path, ctx.Err())
	}
}

// stop goes from the outside in: nobody may read the database when it closes, because etcd's own
// guard against that is the gRPC server, which isn't there.
func (m *Member) stop() {
	defer close(m.stopped)
	m.compaction.stop()
	m.counts.end()
	m.destroyStores()
	m.clock.stop()
	_ = m.client.Close() // answers with its own cancellation
	m.running.Wait()
	m.gate.shut()
	stopServer(m.server, m.trap)
	m.stopErr = errors.Join(m.failure(), m.folder.Close())
}
