// Package listener is a webhook that suites install: an HTTPS server with a certificate of its own, whose paths are
// programmed one by one, and which records each call with header, query and body.
//
// A path belongs to one hook of one case, so parallel cases don't see each other's calls. The listener knows no API: it
// records bytes, and a suite decodes them.
//
// Don't use it to serve a real webhook: it keeps each call in memory until its path is removed.
package listener

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

// idleTimeout is how long a connection without a call stays open. API servers keep connections for each webhook, and a run
// has thousands of these.
const idleTimeout = 15 * time.Second

// DefaultAddress is a free port of loopback, which servers on the same machine reach.
const DefaultAddress = "127.0.0.1:0"

// Options are those of a Listener.
type Options struct {
	// Address is where to listen, and the address in the urls that API servers call. The default is DefaultAddress.
	Address string
	// Wrap is put around the handler of all paths. Tests of suites wrap it to alter calls on their way; nil alters none.
	Wrap func(http.Handler) http.Handler
}

// Listener serves hooks until Close.
type Listener struct {
	address   string
	local     net.Addr
	authority *authority
	server    *http.Server
	served    chan error

	mu    sync.Mutex
	paths map[string]*Path
	// certificates are those for further hosts, by host; other connections get the fallback.
	certificates map[string]*tls.Certificate
	fallback     *tls.Certificate
}

// Call is a request that a path was sent. Nothing changes it.
type Call struct {
	Path           string
	Method, Query  string
	Proto          string
	Header         http.Header
	Body           []byte
	Began          time.Time
	ConnectionName string // the server name of the TLS connection
}

// Path is a programmed path of a listener.
type Path struct {
	listener *Listener
	name     string
	handler  func(http.ResponseWriter, *http.Request, *Call)
}

// Start listens and serves.
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

// Close ends the calls that are being served.
func (l *Listener) Close() error {
	err := l.server.Close()
	if served := <-l.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// CABundle is the authority of the certificates, in PEM.
func (l *Listener) CABundle() []byte { return l.authority.pem }

// URL is that of a path, which begins with a slash.
func (l *Listener) URL(path string) string { return "https://" + l.address + path }

// Address is the host and the port of the urls.
func (l *Listener) Address() string { return l.address }

// Local is the address of the socket.
func (l *Listener) Local() net.Addr { return l.local }

// Certify gives the listener a certificate for a further host, by which connections name it. Connections for hosts that
// it has no certificate for get that of the address.
func (l *Listener) Certify(host string) error {
	certificate, err := l.authority.issue(host)
	if err != nil {
		return fmt.Errorf("certificate for %s: %w", host, err)
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

// Handle programs a path until the returned Path is removed. The handler gets the call, whose body it has read. A path
// that begins with a host, as in a.example/path, is that of connections for this host alone.
func (l *Listener) Handle(path string, handler func(http.ResponseWriter, *http.Request, *Call)) *Path {
	p := &Path{listener: l, name: path, handler: handler}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paths[path] = p
	return p
}

// Remove makes the path answer 404 from now on.
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
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	call.Body = body
	path.handler(w, r, call)
}

// find returns the path for a host, or else the one for all hosts.
func (l *Listener) find(host, path string) *Path {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.paths[host+path]; host != "" && p != nil {
		return p
	}
	return l.paths[path]
}

// Hang waits until the caller gives up the request or ctx ends, and answers nothing.
func Hang(ctx context.Context, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-ctx.Done():
	}
}
