package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http takes no other logger
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// retryInterval is the time between two tries to open a link again.
	retryInterval = 500 * time.Millisecond
	// mostConnections limits the connections that a link carries at once. The limit is high, because API servers keep
	// idle connections for each webhook.
	mostConnections = 1 << 20
)

// Endpoint has the address and the secret with which a suite connects to a relay.
type Endpoint struct {
	// URL is the URL of the relay's LinkPath. Transport sends requests to the URL over HTTP/1.1.
	URL       string
	Transport http.RoundTripper
	Token     string
}

// Link is the suite's end of the connection to a relay. For each connection that the relay accepts, the link connects
// to an address that the suite's machine can reach.
type Link struct {
	endpoint Endpoint
	target   string
	stop     context.CancelFunc
	ended    chan struct{}
	// greeted is closed when the relay first carries connections over the link.
	greeted chan struct{}
	greet   sync.Once
	// connections are the goroutines that carry connections.
	connections sync.WaitGroup
}

// Open opens a link to a relay. For each connection that the relay accepts, the link connects to the target. If the
// link breaks, it is opened again, until Close is called.
func Open(ctx context.Context, endpoint Endpoint, target string) (*Link, error) {
	first, err := endpoint.dial(ctx)
	if err != nil {
		return nil, err
	}
	until, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &Link{endpoint: endpoint, target: target, stop: stop, ended: make(chan struct{}), greeted: make(chan struct{})}
	go l.keep(until, first)
	select {
	case <-l.greeted:
		return l, nil
	case <-first.ended:
		l.Close()
		return nil, fmt.Errorf("link to the relay at %s: the connection ended before the relay used the link", endpoint.URL)
	case <-ctx.Done():
		l.Close()
		return nil, fmt.Errorf("link to the relay at %s: %w", endpoint.URL, context.Cause(ctx))
	}
}

// Close ends the link and the connections over it.
func (l *Link) Close() {
	l.stop()
	<-l.ended
}

// keep serves the connections of links, one link after the other.
func (l *Link) keep(ctx context.Context, s *stream) {
	defer close(l.ended)
	defer l.connections.Wait()
	for {
		l.serve(ctx, s)
		err := wait.PollUntilContextCancel(ctx, retryInterval, true, func(ctx context.Context) (bool, error) {
			var err error
			s, err = l.endpoint.dial(ctx)
			return err == nil, nil //nolint:nilerr // the relay may answer a later try
		})
		if err != nil {
			return
		}
	}
}

// serve connects to the target for each connection that the relay accepts, until the stream ends.
func (l *Link) serve(ctx context.Context, s *stream) {
	server := &http.Server{ //nolint:gosec // the only connection is the link's own stream, whose pings have a limit
		Handler: l.handler(), Protocols: unencryptedHTTP2(), ErrorLog: log.New(io.Discard, "", 0),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: mostConnections, SendPingTimeout: pingInterval},
		// With this context, every connection ends when the link ends.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	defer func() { _ = server.Close() }()
	_ = server.Serve(&single{stream: s})
}

// handler answers the requests of the relay. A GET is the relay's greeting, and a POST carries a connection.
func (l *Link) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(http.ResponseWriter, *http.Request) { l.greet.Do(func() { close(l.greeted) }) })
	mux.HandleFunc("POST /", l.connect)
	return mux
}

// connect connects to the target for one connection of the relay, and carries the data in both directions. It returns
// when the target closes the connection, or when the request or the link ends.
func (l *Link) connect(w http.ResponseWriter, r *http.Request) {
	l.connections.Add(1)
	defer l.connections.Done()
	var dialer net.Dialer
	dialed, err := dialer.DialContext(r.Context(), "tcp", l.target)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer dialed.Close()
	stop := context.AfterFunc(r.Context(), func() { _ = dialed.Close() })
	defer stop()
	conn := dialed.(*net.TCPConn)
	answer := &flushed{to: w, control: http.NewResponseController(w)}
	w.WriteHeader(http.StatusOK)
	if answer.control.Flush() != nil {
		return
	}
	l.connections.Go(func() {
		_, _ = io.Copy(conn, r.Body) // either side may end the connection
		_ = conn.CloseWrite()
	})
	_, _ = io.Copy(answer, conn)
}

// dial sends a request that is upgraded to a stream.
func (e Endpoint) dial(ctx context.Context) (*stream, error) {
	request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, e.URL, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", Protocol)
	request.Header.Set(TokenHeader, e.Token)
	// The stream outlives ctx, which limits only the request.
	until, cancel := context.WithCancel(request.Context())
	stop := context.AfterFunc(ctx, cancel)
	response, err := e.Transport.RoundTrip(request.WithContext(until))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("link to the relay at %s: %w", e.URL, err)
	}
	conn, upgraded := response.Body.(io.ReadWriteCloser)
	if response.StatusCode != http.StatusSwitchingProtocols || !upgraded || !stop() {
		defer cancel()
		defer response.Body.Close()
		said, _ := io.ReadAll(io.LimitReader(response.Body, 500)) // the first 500 bytes are enough for an error message
		return nil, fmt.Errorf("link to the relay at %s: the answer must be an upgrade to %s, got %s: %s", e.URL, Protocol, response.Status, said)
	}
	return &stream{ReadWriteCloser: conn, ended: make(chan struct{}), cancel: cancel}, nil
}

// flushed flushes a response after each write.
type flushed struct {
	to      io.Writer
	control *http.ResponseController
}

func (f *flushed) Write(p []byte) (int, error) {
	n, err := f.to.Write(p)
	return n, errors.Join(err, f.control.Flush())
}

// stream is the upgraded connection of a request. It has no deadlines, because pings end a stream whose other end
// doesn't answer.
type stream struct {
	io.ReadWriteCloser

	cancel context.CancelFunc
	once   sync.Once
	ended  chan struct{}
}

var _ net.Conn = &stream{}

func (s *stream) Close() error {
	var err error
	s.once.Do(func() {
		err = s.ReadWriteCloser.Close()
		s.cancel()
		close(s.ended)
	})
	return err
}

func (s *stream) LocalAddr() net.Addr              { return streamAddr{} }
func (s *stream) RemoteAddr() net.Addr             { return streamAddr{} }
func (s *stream) SetDeadline(time.Time) error      { return nil }
func (s *stream) SetReadDeadline(time.Time) error  { return nil }
func (s *stream) SetWriteDeadline(time.Time) error { return nil }

type streamAddr struct{}

func (streamAddr) Network() string { return Protocol }
func (streamAddr) String() string  { return "relay" }

// single is a listener that accepts one stream. The next call of Accept waits until the stream ends, and returns
// net.ErrClosed.
type single struct {
	stream   *stream
	accepted sync.Once
}

func (l *single) Accept() (net.Conn, error) {
	var first net.Conn
	l.accepted.Do(func() { first = l.stream })
	if first != nil {
		return first, nil
	}
	<-l.stream.ended
	return nil, net.ErrClosed
}

func (l *single) Close() error   { return l.stream.Close() }
func (l *single) Addr() net.Addr { return streamAddr{} }
