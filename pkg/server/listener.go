package server

import (
	"net"
	"sync"
)

// listener knows its open connections, so that a server that has answered its last
// request can end at once: HTTP/2 would give every idle client a second to react.
type listener struct {
	net.Listener

	mu     sync.Mutex
	open   map[*connection]struct{}
	closed bool
}

func newListener(l net.Listener) *listener {
	return &listener{Listener: l, open: map[*connection]struct{}{}}
}

// connection takes itself off its listener's list when it is closed.
type connection struct {
	net.Conn
	listener *listener
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{conn, l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = conn.Close()
	} else {
		l.open[c] = struct{}{}
	}
	return c, nil
}

// closeConnections closes every connection, and those that are still to come.
func (l *listener) closeConnections() {
	l.mu.Lock()
	open := l.open
	l.open, l.closed = nil, true
	l.mu.Unlock()
	for c := range open {
		_ = c.Conn.Close()
	}
}

func (c *connection) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
