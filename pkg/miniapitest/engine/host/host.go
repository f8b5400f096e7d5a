package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http accepts no other type of logger
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
)

// Options are the options of a host.
type Options struct {
	// Engine runs the servers.
	Engine engine.Engine
	// Version is the version of miniapi, for clients.
	Version string
	// Socket is the path of a Unix socket, or "" for a free port of 127.0.0.1.
	Socket string
	// Lease is the time without any request after which the host ends, or 0 if it ends with its input.
	Lease time.Duration
}

// tokenBytes is the number of random bytes in the token.
const tokenBytes = 32

// Serve writes a [control.Hello] to out, and answers requests until the context ends, until the lease ends, or without a
// lease until the input ends. Then it stops all servers, and removes the files that the client has left.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	token := make([]byte, tokenBytes)
	if _, err := rand.Read(token); err != nil {
		return err
	}
	listener, address, err := listen(ctx, o.Socket)
	if err != nil {
		return err
	}
	hello := control.Hello{Protocol: control.Version, Version: o.Version, Address: address, Token: hex.EncodeToString(token)}
	if err := json.NewEncoder(out).Encode(hello); err != nil {
		return errors.Join(err, listener.Close())
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	h := &host{
		engine: o.Engine, version: o.Version, lease: newLease(o.Lease, end), servers: map[string]*hosted{},
		objects: map[string]*engine.Content{},
	}
	// The requests' contexts end before the servers stop, so that no request waits for a server that has none any more.
	requests, endRequests := context.WithCancel(context.Background())
	defer endRequests()
	server := &http.Server{ //nolint:gosec // the clients have the token
		Handler:     authenticated(hello.Token, h.lease.counted(h.handler())),
		BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog:    log.New(io.Discard, "", 0), // a client that breaks off knows it
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // Serve returns when the server is closed
	}()
	if o.Lease == 0 {
		go func() {
			_, _ = io.Copy(io.Discard, in)
			end()
		}()
	}
	<-ctx.Done()
	endRequests()
	err = h.end()
	_ = server.Close()
	<-served
	return err
}

// listen opens the address of the host.
func listen(ctx context.Context, socket string) (net.Listener, string, error) {
	if socket == "" {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, "", err
		}
		return listener, "http://" + listener.Addr().String(), nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err == nil {
		err = os.Chmod(socket, 0o600)
	}
	if err != nil {
		return nil, "", fmt.Errorf("socket %s: %w", socket, err)
	}
	return listener, "unix://" + socket, nil
}

// host runs the servers of one client.
type host struct {
	engine  engine.Engine
	version string
	lease   *lease

	mu      sync.Mutex
	ended   bool
	last    int
	servers map[string]*hosted
	// objects are the objects that the client has sent, by the hash in hexadecimal digits.
	objects map[string]*engine.Content
}

// add gives a new server its id.
func (h *host) add(s *hosted) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return errors.New("the host is ending")
	}
	h.last++
	s.id = fmt.Sprint(h.last)
	h.servers[s.id] = s
	return nil
}

func (h *host) remove(s *hosted) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.servers, s.id)
}

// all returns the servers.
func (h *host) all() []*hosted {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*hosted, 0, len(h.servers))
	for _, s := range h.servers {
		all = append(all, s)
	}
	return all
}

// end stops all servers at the same time.
func (h *host) end() error {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	all := h.all()
	errs := make([]error, len(all))
	var stopping sync.WaitGroup
	for i, s := range all {
		stopping.Add(1)
		go func() {
			defer stopping.Done()
			errs[i] = h.stop(s)
		}()
	}
	stopping.Wait()
	return errors.Join(errs...)
}
