// Package host runs servers for one test process. The hidden command "miniapi host" calls it, with the requests of
// package process on standard input. Don't use it anywhere else.
package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/wire"
)

// Serve answers requests until the input or the context ends. Then it stops all servers, and removes the files that the
// test process has left.
func Serve(ctx context.Context, in io.Reader, out io.Writer, e engine.Engine, version string) error {
	h := &host{engine: e, out: wire.NewWriter(out), servers: map[int64]*hosted{}, contents: map[int64]*engine.Content{}, calls: map[int64]context.CancelFunc{}, audits: map[int64]chan struct{}{}, gone: make(chan struct{})}
	if err := h.out.Write(wire.Reply{Hello: &wire.Hello{Protocol: wire.Protocol, Version: version}}); err != nil {
		return err
	}
	read := make(chan error, 1)
	go func() { read <- h.read(wire.NewReader(in)) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
	}
	return errors.Join(err, h.end())
}

// host runs the servers of one test process.
type host struct {
	engine engine.Engine
	out    *wire.Writer
	// running counts the calls in progress.
	running sync.WaitGroup
	gone    chan struct{} // closed when the test process has ended

	mu      sync.Mutex
	ended   bool
	servers map[int64]*hosted
	calls   map[int64]context.CancelFunc
	// contents are the objects that the test process has sent, by number.
	contents map[int64]*engine.Content
	audits   map[int64]chan struct{} // by the number of an event: closed when the test process has handled it
	last     int64                   // the number of the last event or snapshot
}

// hosted is a server that runs for the test process.
type hosted struct {
	engine.Server
	id        int64
	leftover  string
	authority engine.Authority
	snapshots map[int64]engine.Snapshot // guarded by mu of the host
}

// read handles requests until the input ends.
func (h *host) read(in *wire.Reader) error {
	for {
		r := wire.Request{}
		switch err := in.Read(&r); {
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		h.take(r)
	}
}

// take starts a call in a goroutine, or handles a message without a reply.
func (h *host) take(r wire.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended:
	case r.Cancel != 0:
		if cancel := h.calls[r.Cancel]; cancel != nil {
			cancel()
		}
	case r.Audited != 0:
		if taken := h.audits[r.Audited]; taken != nil {
			close(taken)
			delete(h.audits, r.Audited)
		}
	case r.Forget != 0:
		if s := h.servers[r.Server]; s != nil {
			delete(s.snapshots, r.Forget)
		}
	case r.Content != nil:
		h.contents[r.Content.Number] = &engine.Content{JSON: r.Content.JSON}
	default:
		ctx, cancel := context.WithCancel(context.Background())
		h.calls[r.ID] = cancel
		if r.Start != nil {
			for _, definition := range r.Definitions {
				content := &engine.Content{JSON: definition.JSON}
				if definition.Number != 0 {
					content = h.contents[definition.Number]
				}
				r.Start.Definitions = append(r.Start.Definitions, content)
			}
			h.servers[r.Server] = &hosted{id: r.Server, leftover: r.Start.Leftover, snapshots: map[int64]engine.Snapshot{}}
		}
		s := h.servers[r.Server]
		h.running.Add(1)
		go func() {
			defer h.running.Done()
			reply := h.call(ctx, r, s)
			reply.ID = r.ID
			h.mu.Lock()
			delete(h.calls, r.ID)
			h.mu.Unlock()
			cancel()
			_ = h.out.Write(reply) // an error means that the test process has ended
		}()
	}
}

// call handles a request and returns the reply.
func (h *host) call(ctx context.Context, r wire.Request, s *hosted) wire.Reply {
	var reply wire.Reply
	var err error
	switch {
	case r.Start != nil:
		reply.Info, reply.Warnings, err = h.start(ctx, s, *r.Start)
	case s == nil || s.Server == nil && r.Certificate == nil:
		err = fmt.Errorf("the miniapi process has no server %d", r.Server)
	case r.Certificate != nil:
		reply.Cert, reply.Key, err = s.issue(r.Certificate)
	case r.User != nil:
		reply.Cert, reply.Key, err = s.User(r.User.Name, r.User.Groups)
	case r.Reach != nil:
		err = s.Reach(ctx, r.Reach.Webhook, r.Reach.Timeout)
	case len(r.Keep) > 0:
		err = s.Keep(ctx, r.Keep)
	case r.Snapshot:
		reply.Snapshot, err = h.snapshot(ctx, s)
	case r.Restore != 0:
		err = h.restore(ctx, s, r.Restore)
	case r.Stop:
		err = errors.Join(s.Stop(), removeLeftover(s.leftover))
		h.remove(s)
	default:
		err = errors.New("the request has no field of this program's version of the protocol")
	}
	reply.Error = wire.NewError(err)
	return reply
}

func (h *host) start(ctx context.Context, s *hosted, d engine.Description) (_ *engine.Info, warnings []string, _ error) {
	started, err := h.engine.Start(ctx, d, engine.Events{
		Warn:  func(warning string) { warnings = append(warnings, warning) }, // Start calls Warn only before Start returns
		Log:   func(line string) { _ = h.out.Write(wire.Reply{Server: s.id, Log: &line}) },
		Audit: func(event []byte) { h.audit(s, event) },
		Configured: func(authority engine.Authority) {
			h.mu.Lock()
			s.authority = authority
			h.mu.Unlock()
			_ = h.out.Write(wire.Reply{Server: s.id, CA: authority.CA()})
		},
	})
	if err != nil {
		h.remove(s)
		return nil, warnings, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Server = started
	go h.watch(s)
	info := started.Info()
	return &info, warnings, nil
}

// watch reports the end of a server to the test process.
func (h *host) watch(s *hosted) {
	<-s.Ended()
	_ = h.out.Write(wire.Reply{Server: s.id, Ended: true, Error: wire.NewError(s.Err())})
}

// audit sends an event to the test process, and waits until the test process has handled it.
func (h *host) audit(s *hosted, event []byte) {
	taken := make(chan struct{})
	h.mu.Lock()
	h.last++
	id := h.last
	h.audits[id] = taken
	h.mu.Unlock()
	if err := h.out.Write(wire.Reply{Server: s.id, Audit: event, Event: id}); err != nil {
		return
	}
	select {
	case <-taken:
	case <-h.gone:
	}
}

func (s *hosted) issue(c *wire.Certificate) (cert, key []byte, err error) {
	if s.authority == nil {
		return nil, nil, errors.New("issuing a certificate: the server has no authority yet, because the server is still starting")
	}
	var ips []net.IP
	for _, ip := range c.IPs {
		ips = append(ips, net.ParseIP(ip))
	}
	return s.authority.ServingCertificate(c.Hosts, ips)
}

func (h *host) snapshot(ctx context.Context, s *hosted) (int64, error) {
	snapshot, err := s.Server.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	s.snapshots[h.last] = snapshot
	return h.last, nil
}

func (h *host) restore(ctx context.Context, s *hosted, id int64) error {
	h.mu.Lock()
	snapshot, known := s.snapshots[id]
	h.mu.Unlock()
	if !known {
		return fmt.Errorf("the server has no snapshot %d", id)
	}
	return s.Server.Restore(ctx, snapshot)
}

func (h *host) remove(s *hosted) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.servers, s.id)
}

// end ends all calls and stops all servers.
func (h *host) end() error {
	h.mu.Lock()
	h.ended = true
	close(h.gone)
	for _, cancel := range h.calls {
		cancel()
	}
	h.mu.Unlock()
	h.running.Wait()
	var stopping sync.WaitGroup
	errs := make(chan error, 2*len(h.servers))
	for _, s := range h.servers { // all calls have ended, so the map doesn't change
		stopping.Add(1)
		go func() {
			defer stopping.Done()
			if s.Server != nil {
				errs <- s.Stop()
			}
			errs <- removeLeftover(s.leftover)
		}()
	}
	stopping.Wait()
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// Prefix is the beginning of the name of each folder that a test process may leave.
const Prefix = "miniapitest-"

// removeLeftover removes a folder of the test process. It removes only a folder with an absolute path, whose name
// begins with Prefix.
func removeLeftover(folder string) error {
	if !filepath.IsAbs(folder) || len(filepath.Base(folder)) <= len(Prefix) || filepath.Base(folder)[:len(Prefix)] != Prefix {
		return nil
	}
	return os.RemoveAll(folder)
}
