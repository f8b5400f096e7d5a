// Package listener takes the port of a server, knows the connections to it, and ends them when the server has answered its
// last request. It also says by which addresses clients reach the server.
//
// [Open] and [New] are the way in. Don't use the package for the connections of a server to others: see package webhooks.
package listener

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// answerGrace is how long a connection may stay open after the last request on it was answered, for its
// client to read the answer. The client of one that is told to go away closes it then.
const answerGrace = 100 * time.Millisecond

// Listener knows its open connections, so that a server that has answered its last
// request can end at once: HTTP/2 would give every idle client a second to react.
type Listener struct {
	net.Listener
	yield func() // before each write, if there is one

	mu sync.Mutex
	// open has the connections by their clients' addresses.
	open map[string]*connection
	// LongRunning tells requests that run until somebody ends them, and have no answer to wait for. It is set before the
	// first request.
	LongRunning func(*http.Request) bool
	// stopping says that connections get no more requests but those they have.
	stopping, closed bool
}

// New returns a listener. Each write to a connection calls yield first, unless it is nil.
func New(l net.Listener, yield func()) *Listener {
	return &Listener{Listener: l, yield: yield, open: map[string]*connection{}}
}

// connection takes itself off its listener's list when it is closed.
type connection struct {
	net.Conn
	listener *Listener
	once     sync.Once
	ended    chan struct{}
	// requests are those being served, and answering says that one of them was to be answered when the stop
	// began or later.
	requests  map[*http.Request]struct{}
	answering bool
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, listener: l, ended: make(chan struct{}), requests: map[*http.Request]struct{}{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = conn.Close()
	} else {
		l.open[conn.RemoteAddr().String()] = c
	}
	return c, nil
}

// Serving notes the requests of each connection.
func (l *Listener) Serving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if c := l.begin(req); c != nil {
			defer l.finish(c, req)
		}
		next.ServeHTTP(w, req)
	})
}

// begin returns the connection of a request, nil if it is one of the server's own.
func (l *Listener) begin(req *http.Request) *connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.open[req.RemoteAddr]
	if c != nil {
		c.requests[req] = struct{}{}
		c.answering = c.answering || l.stopping && !l.LongRunning(req)
	}
	return c
}

func (l *Listener) finish(c *connection, req *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(c.requests, req)
}

// Stop is called before the server tells clients to go away.
func (l *Listener) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopping = true
	for _, c := range l.open {
		for req := range c.requests {
			c.answering = c.answering || !l.LongRunning(req)
		}
	}
}

// CloseConnections closes every connection, and those that are still to come. It is called when the last
// request was handled; those whose answers may not be sent yet get a moment.
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

// Write sends what HTTP/2 has ready. What becomes ready before it returns goes with the next write.
func (c *connection) Write(p []byte) (int, error) {
	if yield := c.listener.yield; yield != nil {
		yield()
	}
	return c.Conn.Write(p)
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
