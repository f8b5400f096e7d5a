// Package listener opens the port of a server, and closes the connections after the server has answered its last
// request. It also determines the addresses by which clients reach the server.
//
// [Open] opens the port, and [New] makes the Listener of the open port. [Addresses] has the addresses. Don't use the
// package for the server's connections to others: see package outgoing.
package listener

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// answerGrace is the time for which a connection stays open after its last response, so that the client can read the
// response. After a GOAWAY of the server, a client usually closes the connection within that time.
const answerGrace = 100 * time.Millisecond

// Listener records its open connections, so that a server can close them as soon as it has answered its last request.
// Without it, a stop would take a second longer if an idle HTTP/2 client is connected.
type Listener struct {
	net.Listener

	mu sync.Mutex
	// open has the open connections by the addresses of their clients.
	open map[string]*connection
	// stopping is true after Stop, and closed is true after CloseConnections.
	stopping, closed bool
}

// New returns a listener.
func New(l net.Listener) *Listener {
	return &Listener{Listener: l, open: map[string]*connection{}}
}

// connection is an open connection of a listener.
type connection struct {
	net.Conn
	listener *Listener
	once     sync.Once
	ended    chan struct{}
	// requests are the requests in progress, with functions that tell whether they are long-running. answering is true
	// if, since the stop began, the connection has had a request other than a long-running one.
	requests  map[*http.Request]func(*http.Request) bool
	answering bool
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, listener: l, ended: make(chan struct{}), requests: map[*http.Request]func(*http.Request) bool{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = conn.Close()
	} else {
		l.open[conn.RemoteAddr().String()] = c
	}
	return c, nil
}

// Serving returns a handler that calls next, and records for each connection which requests are in progress. The
// function longRunning reports whether a request is long-running, such as a watch. The response to such a request is
// never complete, so a stop doesn't wait for it.
func (l *Listener) Serving(next http.Handler, longRunning func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if c := l.begin(req, longRunning); c != nil {
			defer l.finish(c, req)
		}
		next.ServeHTTP(w, req)
	})
}

// begin records a request, and returns its connection. It returns nil if the request has no open connection, for
// example because the server itself has made the request.
func (l *Listener) begin(req *http.Request, longRunning func(*http.Request) bool) *connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.open[req.RemoteAddr]
	if c != nil {
		c.requests[req] = longRunning
		c.answering = c.answering || l.stopping && !longRunning(req)
	}
	return c
}

// Abort resets the connection of a request in progress.
func (l *Listener) Abort(req *http.Request) {
	l.mu.Lock()
	c := l.open[req.RemoteAddr]
	l.mu.Unlock()
	if c == nil { // the connection is closed
		return
	}
	if tcp, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0) // with this setting, a close resets the connection
	}
	_ = c.Close()
}

func (l *Listener) finish(c *connection, req *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(c.requests, req)
}

// Stop marks the beginning of a stop. It must be called before the server sends GOAWAY to clients.
func (l *Listener) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopping = true
	for _, c := range l.open {
		for req, longRunning := range c.requests {
			c.answering = c.answering || !longRunning(req)
		}
	}
}

// CloseConnections closes all connections, and makes the listener close later connections. It must be called after
// the last request. A connection whose client may still be reading a response is closed after answerGrace, unless it
// ends earlier.
func (l *Listener) CloseConnections() {
	l.mu.Lock()
	open := l.open
	l.open, l.closed = nil, true
	l.mu.Unlock()
	grace, cancel := context.WithTimeout(context.Background(), answerGrace)
	defer cancel()
	var answering sync.WaitGroup
	for _, c := range open {
		if !c.answering {
			_ = c.Conn.Close()
			continue
		}
		answering.Go(func() {
			select {
			case <-c.ended:
			case <-grace.Done():
				_ = c.Conn.Close()
			}
		})
	}
	answering.Wait()
}

func (c *connection) Close() error {
	c.once.Do(func() {
		c.listener.mu.Lock()
		defer c.listener.mu.Unlock()
		if address := c.Conn.RemoteAddr().String(); c.listener.open[address] == c {
			delete(c.listener.open, address)
		}
		close(c.ended)
	})
	return c.Conn.Close()
}
