package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
)

// server is an engine.Server whose server runs in a miniapi process. Most methods implement engine.Server.
type server struct {
	host    *host
	id      string
	info    engine.Info
	events  engine.Events
	release func()
	audits  sync.WaitGroup
	// started has the event that ends the start.
	started chan control.Event
	// followed is closed after the last event.
	followed chan struct{}
	// stopped is closed when the server has been stopped, or when its start has failed.
	stopped chan struct{}
	stop    func() error

	mu    sync.Mutex
	ended chan struct{}
	err   error // has its value when ended is closed
}

// start starts a server in the process. The function release is called at the end of the server, or of a failed start.
func (h *host) start(ctx context.Context, d engine.Description, events engine.Events, release func()) (*server, error) {
	s := &server{
		host: h, events: events, release: release, started: make(chan control.Event, 1), followed: make(chan struct{}),
		stopped: make(chan struct{}), ended: make(chan struct{}),
	}
	s.stop = sync.OnceValue(s.stopOnce)
	configured, err := s.configure(ctx, d)
	if err != nil {
		close(s.followed)
		s.finish()
		return nil, err
	}
	h.mu.Lock()
	h.servers[s] = true
	h.mu.Unlock()
	go s.follow(context.WithoutCancel(ctx))
	if configured.WebhookCA != "" { // else the start has failed before
		events.Configured(authority{s, []byte(configured.WebhookCA)})
	}
	if err := s.await(ctx); err != nil {
		_ = s.stop() // err is the reason
		return nil, err
	}
	return s, nil
}

// configure begins the start of the server in the process.
func (s *server) configure(ctx context.Context, d engine.Description) (control.Server, error) {
	var configured control.Server
	definitions, err := s.host.send(ctx, d.Definitions)
	if err != nil {
		return configured, err
	}
	err = s.host.call(ctx, nil, http.MethodPost, "/v1/servers?wait=configured", control.Options{Description: d, Definitions: definitions}, &configured)
	s.id = configured.ID
	return configured, err
}

// await waits until the server is ready.
func (s *server) await(ctx context.Context) error {
	var event control.Event
	select {
	case event = <-s.started:
	case <-s.followed:
		select {
		case event = <-s.started:
		default:
			return s.err
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if event.Started == nil {
		s.warn(event.Warnings)
		if err := event.Error.Err(); err != nil {
			return err
		}
		return errors.New("the server has ended before it was ready")
	}
	started := event.Started
	s.warn(started.Warnings)
	s.info = engine.Info{
		Host: started.URL, CA: []byte(started.CA), Cert: []byte(started.Cert), Key: []byte(started.Key), Places: started.Places,
		Installed: started.Installed, Kept: started.Kept, Snapshots: started.Snapshots,
	}
	return nil
}

func (s *server) warn(warnings []string) {
	for _, warning := range warnings {
		s.events.Warn(warning)
	}
}

// follow handles the events of the server until the last.
func (s *server) follow(ctx context.Context) {
	defer close(s.followed)
	if err := s.host.client.Events(ctx, s.id, s.take); err != nil {
		s.end(s.host.explain(ctx, err))
	}
}

// take handles an event of the server.
func (s *server) take(event control.Event) {
	switch {
	case event.Log != nil:
		s.events.Log(*event.Log)
	case event.Audit != nil:
		s.audits.Add(1)
		go func() {
			defer s.audits.Done()
			// The request of the event waits for the acknowledgement. The function Audit may call t.FailNow, which ends the
			// goroutine, so a deferred function sends it.
			defer func() {
				_ = s.host.client.Do(context.Background(), http.MethodDelete, s.path(fmt.Sprintf("/audit/%d", event.Number)), nil, nil)
			}()
			s.events.Audit(event.Audit)
		}()
	case event.Started != nil:
		s.started <- event
	case event.Ended:
		select {
		case s.started <- event: // the start has failed
		default:
		}
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

// path returns the path of an operation of the server.
func (s *server) path(operation string) string { return "/v1/servers/" + s.id + operation }

// authority is an engine.Authority whose keys are in a miniapi process.
type authority struct {
	server *server
	ca     []byte
}

// CA implements engine.Authority.
func (a authority) CA() []byte { return a.ca }

// ServingCertificate implements engine.Authority.
func (a authority) ServingCertificate(hosts []string, ips []net.IP) (cert, key []byte, err error) {
	r := control.CertificateRequest{Hosts: hosts}
	for _, ip := range ips {
		r.IPs = append(r.IPs, ip.String())
	}
	return a.server.certificate("/certificates", r)
}

// certificate requests a certificate.
func (s *server) certificate(operation string, request any) (cert, key []byte, err error) {
	var issued control.Certificate
	err = s.call(context.Background(), http.MethodPost, operation, request, &issued)
	return []byte(issued.Cert), []byte(issued.Key), err
}

func (s *server) call(ctx context.Context, method, operation string, request, response any) error {
	select {
	case <-s.stopped:
		return errStopped
	default:
	}
	return s.host.call(ctx, s.stopped, method, s.path(operation), request, response)
}

// Info implements engine.Server.
func (s *server) Info() engine.Info { return s.info }

// User implements engine.Server.
func (s *server) User(name string, groups []string) (cert, key []byte, err error) {
	return s.certificate("/users", control.User{Name: name, Groups: groups})
}

// Reach implements engine.Server.
func (s *server) Reach(ctx context.Context, webhook engine.Webhook, timeout time.Duration) error {
	return s.call(ctx, http.MethodPost, "/reach", control.Reach{Webhook: webhook, TimeoutMilliseconds: timeout.Milliseconds()}, nil)
}

// Keep implements engine.Server.
func (s *server) Keep(ctx context.Context, objects []engine.Installed) error {
	return s.call(ctx, http.MethodPut, "/kept", control.Kept{Objects: objects}, nil)
}

// snapshot is an engine.Snapshot whose objects are in a miniapi process.
type snapshot struct {
	of *server
	id string
}

// Snapshot implements engine.Server. When the test has no reference to the snapshot any more, the miniapi process drops
// it.
func (s *server) Snapshot(ctx context.Context) (engine.Snapshot, error) {
	var taken control.Snapshot
	if err := s.call(ctx, http.MethodPost, "/snapshots", nil, &taken); err != nil {
		return nil, err
	}
	made := &snapshot{s, taken.ID}
	// An error means that the server has ended. Then the snapshot doesn't exist any more.
	runtime.SetFinalizer(made, func(m *snapshot) {
		go func() { _ = s.call(context.Background(), http.MethodDelete, "/snapshots/"+m.id, nil, nil) }()
	})
	return made, nil
}

// Restore implements engine.Server.
func (s *server) Restore(ctx context.Context, of engine.Snapshot) error {
	made, ok := of.(*snapshot)
	if !ok || made.of != s {
		return errors.New("the snapshot is of another server: a server restores only its own snapshots")
	}
	err := s.call(ctx, http.MethodPost, "/snapshots/"+made.id+"/restore", nil, nil)
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
	err := s.host.call(context.Background(), nil, http.MethodDelete, s.path(""), nil, nil)
	s.finish()
	return err
}

// finish is called when the process has stopped the server. It waits for the functions that handle events.
func (s *server) finish() {
	<-s.followed
	s.audits.Wait()
	s.host.mu.Lock()
	delete(s.host.servers, s)
	s.host.mu.Unlock()
	s.end(nil)
	close(s.stopped)
	s.release()
}
