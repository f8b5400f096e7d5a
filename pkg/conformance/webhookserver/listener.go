// Package webhookserver is the HTTPS server of a suite's webhooks. A suite adds and removes paths with handlers while the
// server runs. A handler gets each call of its path as a Call, with the header, the query and the body.
//
// Each path belongs to one webhook of one case, so parallel cases don't get each other's calls. The package doesn't
// decode the calls: the suite does.
//
// Don't use the package for a real webhook, because it reads bodies of any size into memory and logs no errors.
package webhookserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// idleTimeout is the time after which a connection without a call is closed. API servers keep connections for each
// webhook, and a run has thousands of webhooks.
const idleTimeout = 15 * time.Second

// DefaultAddress stands for a free port of the loopback address, for a server on the same machine.
const DefaultAddress = "127.0.0.1:0"

// Options are the options of a Listener.
type Options struct {
	// Address is the HOST:PORT that the listener listens on. With the port 0, the listener takes a free port. API servers
	// call URLs with the same host and port. The default is DefaultAddress.
	Address string
	// Wrap, if set, wraps the handler of all paths. Tests of suites change calls in the wrapper.
	Wrap func(http.Handler) http.Handler
}

// Listener is an HTTPS server whose paths can be added and removed. Close stops it.
type Listener struct {
	address   string
	local     net.Addr
	authority *authority
	server    *http.Server
	served    chan error

	mu    sync.Mutex
	paths map[string]*Path
	// certificates has the certificates for further hosts, by host. Connections for all other hosts get the certificate
	// fallback.
	certificates map[string]*tls.Certificate
	fallback     *tls.Certificate
}

// Call is a request to a path of a listener. A handler must not change it.
type Call struct {
	Path           string
	Method, Query  string
	Proto          string
	Header         http.Header
	Body           []byte
	Began          time.Time
	ConnectionName string // the server name of the TLS handshake
}

// Path is a path of a listener, with its handler.
type Path struct {
	listener *Listener
	name     string
	handler  func(http.ResponseWriter, *http.Request, *Call)
}

// Start makes a certificate for the host of Options.Address, and returns when the listener accepts connections. The
// listener has no paths yet.
func Start(o Options) (*Listener, error) {
	if o.Address == "" {
		o.Address = DefaultAddress
	}
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, fmt.Errorf("webhook address %q: must be HOST:PORT: %w", o.Address, err)
	}
	if host == "" {
		return nil, fmt.Errorf("webhook address %q: must name the host that the API server can reach, as in 192.0.2.1:8443", o.Address)
	}
	signer, err := newAuthority()
	if err != nil {
		return nil, fmt.Errorf("authority for webhook address %q: %w", o.Address, err)
	}
	certificate, err := signer.issue(host)
	if err != nil {
		return nil, fmt.Errorf("certificate for webhook address %q: %w", o.Address, err)
	}
	socket, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("webhook address %q: %w", o.Address, err)
	}
	_, port, err := net.SplitHostPort(socket.Addr().String())
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	l := &Listener{
		address: net.JoinHostPort(host, port), local: socket.Addr(), authority: signer, fallback: certificate, served: make(chan error, 1),
		paths: map[string]*Path{}, certificates: map[string]*tls.Certificate{},
	}
	handler := http.Handler(http.HandlerFunc(l.serve))
	if o.Wrap != nil {
		handler = o.Wrap(handler)
	}
	l.server = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: idleTimeout, ErrorLog: silent(),
		TLSConfig: &tls.Config{GetCertificate: l.certificate, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}}
	go func() { l.served <- l.server.ServeTLS(socket, "", "") }()
	return l, nil
}

// Close stops the listener and ends the calls in progress.
func (l *Listener) Close() error {
	err := l.server.Close()
	if served := <-l.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// CABundle returns the certificate of the authority that signs the listener's certificates, in PEM.
func (l *Listener) CABundle() []byte { return l.authority.pem }

// URL returns the URL of a path. The path must begin with a slash.
func (l *Listener) URL(path string) string { return "https://" + l.address + path }

// Address returns the host and the port of the URLs.
func (l *Listener) Address() string { return l.address }

// Local returns the address of the socket.
func (l *Listener) Local() net.Addr { return l.local }

// Certify creates a certificate for a further host of the listener. A connection whose TLS handshake names a host
// without a certificate gets the certificate of the listener's address.
func (l *Listener) Certify(host string) error {
	certificate, err := l.authority.issue(host)
	if err != nil {
		return fmt.Errorf("certificate for webhook host %q: %w", host, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.certificates[host] = certificate
	return nil
}

func (l *Listener) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if certificate := l.certificates[hello.ServerName]; certificate != nil {
		return certificate, nil
	}
	return l.fallback, nil
}

// Handle sets the handler of a path until the returned Path is removed. The handler gets the whole body in the Call,
// because the listener has already read the body of the request. If a path begins with a host, as in a.example/path,
// the handler gets only the calls for this host.
func (l *Listener) Handle(path string, handler func(http.ResponseWriter, *http.Request, *Call)) *Path {
	p := &Path{listener: l, name: path, handler: handler}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paths[path] = p
	return p
}

// Remove removes the handler of the path. Later requests get the status 404.
func (p *Path) Remove() {
	p.listener.mu.Lock()
	defer p.listener.mu.Unlock()
	delete(p.listener.paths, p.name)
}

func (l *Listener) serve(w http.ResponseWriter, r *http.Request) {
	call := &Call{Path: r.URL.Path, Method: r.Method, Query: r.URL.RawQuery, Proto: r.Proto, Header: r.Header.Clone(), Began: time.Now()}
	if r.TLS != nil {
		call.ConnectionName = r.TLS.ServerName
	}
	path := l.find(call.ConnectionName, call.Path)
	if path == nil {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, fmt.Sprintf("reading the body of the request for %s: %v", call.Path, err), http.StatusBadRequest)
		return
	}
	call.Body = body
	path.handler(w, r, call)
}

// find returns the path for a host. If there is none, it returns the path for all hosts, or nil.
func (l *Listener) find(host, path string) *Path {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.paths[host+path]; host != "" && p != nil {
		return p
	}
	return l.paths[path]
}

// Hang returns without an answer when the caller closes the connection, or when ctx ends.
func Hang(ctx context.Context, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-ctx.Done():
	}
}
