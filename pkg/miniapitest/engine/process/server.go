package process

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/wire"
)

// server is an engine.Server whose server runs in a miniapi process. Most methods implement engine.Server.
type server struct {
	host    *host
	id      int64
	info    engine.Info
	events  engine.Events
	log     *lines
	release func()
	audits  sync.WaitGroup
	// stopped is closed when the server has been stopped, or when its start has failed.
	stopped chan struct{}
	stop    func() error

	mu    sync.Mutex
	ended chan struct{}
	err   error // has its value when ended is closed
}

// newServer registers a server with its process, so that events reach the server. The function release is called at the
// end of the server.
func newServer(h *host, id int64, events engine.Events, release func()) *server {
	s := &server{host: h, id: id, events: events, log: newLines(events.Log), release: release, ended: make(chan struct{})}
	s.stopped, s.stop = make(chan struct{}), sync.OnceValue(s.stopOnce)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers[id] = s
	return s
}

// take handles an event of the server. The caller holds the lock of the process.
func (s *server) take(event wire.Reply) {
	switch {
	case event.Log != nil:
		s.log.add(*event.Log)
	case event.Audit != nil:
		s.audits.Add(1)
		go func() {
			defer s.audits.Done()
			// The process waits for this message. The function Audit may call t.FailNow, which ends the goroutine, so a
			// deferred function sends the message.
			defer func() { _ = s.host.writer.Write(wire.Request{Server: s.id, Audited: event.Event}) }()
			s.events.Audit(event.Audit)
		}()
	case event.CA != nil:
		s.events.Configured(authority{s, event.CA})
	case event.Ended:
		s.end(event.Error.Err())
	}
}

// end records the end of the server.
func (s *server) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
	default:
		s.err = err
		close(s.ended)
	}
}

// close records the end of the server, and ends its log. The caller must hold the lock host.mu, unless the server
// gets no more events.
func (s *server) close(err error) {
	s.end(err)
	s.log.close()
}

// authority is an engine.Authority whose keys are in a miniapi process.
type authority struct {
	server *server
	ca     []byte
}

// CA implements engine.Authority.
func (a authority) CA() []byte { return a.ca }

// ServingCertificate implements engine.Authority.
func (a authority) ServingCertificate(hosts []string, ips []net.IP) (cert, key []byte, err error) {
	r := &wire.Certificate{Hosts: hosts}
	for _, ip := range ips {
		r.IPs = append(r.IPs, ip.String())
	}
	reply, err := a.server.call(context.Background(), wire.Request{Certificate: r})
	return reply.Cert, reply.Key, err
}

func (s *server) call(ctx context.Context, r wire.Request) (wire.Reply, error) {
	select {
	case <-s.stopped:
		return wire.Reply{}, errStopped
	default:
	}
	r.Server = s.id
	return s.host.call(ctx, s.stopped, r)
}

// Info implements engine.Server.
func (s *server) Info() engine.Info { return s.info }

// User implements engine.Server.
func (s *server) User(name string, groups []string) (cert, key []byte, err error) {
	reply, err := s.call(context.Background(), wire.Request{User: &wire.User{Name: name, Groups: groups}})
	return reply.Cert, reply.Key, err
}

// Reach implements engine.Server.
func (s *server) Reach(ctx context.Context, webhook engine.Webhook, timeout time.Duration) error {
	_, err := s.call(ctx, wire.Request{Reach: &wire.Reach{Webhook: webhook, Timeout: timeout}})
	return err
}

// Keep implements engine.Server.
func (s *server) Keep(ctx context.Context, objects []engine.Installed) error {
	_, err := s.call(ctx, wire.Request{Keep: objects})
	return err
}

// snapshot is an engine.Snapshot whose objects are in a miniapi process.
type snapshot struct {
	of *server
	id int64
}

// Snapshot implements engine.Server. When the test has no reference to the snapshot any more, the miniapi process drops
// it.
func (s *server) Snapshot(ctx context.Context) (engine.Snapshot, error) {
	reply, err := s.call(ctx, wire.Request{Snapshot: true})
	if err != nil {
		return nil, err
	}
	made := &snapshot{s, reply.Snapshot}
	runtime.SetFinalizer(made, func(m *snapshot) { s.forget(m.id) })
	return made, nil
}

func (s *server) forget(id int64) {
	select {
	case <-s.stopped:
	default:
		// An error means that the process has ended. Then the snapshot doesn't exist any more.
		_ = s.host.writer.Write(wire.Request{Server: s.id, Forget: id})
	}
}

// Restore implements engine.Server.
func (s *server) Restore(ctx context.Context, of engine.Snapshot) error {
	made, ok := of.(*snapshot)
	if !ok || made.of != s {
		return errors.New("the snapshot is of another server: a server restores only its own snapshots")
	}
	_, err := s.call(ctx, wire.Request{Restore: made.id})
	runtime.KeepAlive(made)
	return err
}

// Ended implements engine.Server.
func (s *server) Ended() <-chan struct{} { return s.ended }

// Err implements engine.Server.
func (s *server) Err() error {
	<-s.ended
	return s.err
}

// Stop implements engine.Server. Further calls return the first result.
func (s *server) Stop() error { return s.stop() }

func (s *server) stopOnce() error {
	_, err := s.host.call(context.Background(), nil, wire.Request{Server: s.id, Stop: true})
	s.finish(err)
	return err
}

// finish is called after the last event of the server. It waits for the functions that handle events.
func (s *server) finish(err error) {
	s.audits.Wait()
	s.host.mu.Lock()
	delete(s.host.servers, s.id)
	s.host.mu.Unlock()
	s.close(err)
	s.log.wait()
	close(s.stopped)
	s.release()
}
