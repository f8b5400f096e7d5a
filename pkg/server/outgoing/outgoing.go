// Package outgoing makes the network connections of a server to webhooks and to other servers. They end together. When the
// server stops, no connection is left, not even an idle one.
//
// [New] is the constructor. Don't use the package for the connections of clients to the server: package listener has
// them.
package outgoing

import (
	"context"
	"net"
	"time"
)

// Connections are connections to other servers, which end together.
type Connections struct {
	// Route returns the address to connect to in place of another one, which may be the same. Route may be nil.
	Route func(address string) (string, error)

	open  context.Context
	close context.CancelFunc
}

// New returns Connections without a connection. Connections that Dial makes end with ctx, or with Close.
func New(ctx context.Context) *Connections {
	c := &Connections{}
	c.open, c.close = context.WithCancel(ctx)
	return c
}

// Dial makes a connection. The end of ctx interrupts only the making of the connection.
func (c *Connections) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	// On loopback, a connection may be complete before AfterFunc runs, so check first whether the connections have ended.
	if err := c.open.Err(); err != nil {
		return nil, err
	}
	if c.Route != nil {
		routed, err := c.Route(address)
		if err != nil {
			return nil, err
		}
		address = routed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.open, cancel)()
	dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second} // the values of client-go
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return CloseAfter(c.open, 0, conn), nil
}

// Close makes all connections end, including idle connections and connections that aren't complete. It doesn't wait for
// their end. Dial then makes no more connections.
func (c *Connections) Close() { c.close() }

// CloseAfter returns a connection that is closed when ctx has ended and the time grace has passed since.
func CloseAfter(ctx context.Context, grace time.Duration, conn net.Conn) net.Conn {
	return &connection{conn, context.AfterFunc(ctx, func() { time.AfterFunc(grace, func() { _ = conn.Close() }) })}
}

// connection is a connection that CloseAfter has made. Close calls forget, so that the end of the context doesn't close
// the connection a second time.
type connection struct {
	net.Conn
	forget func() bool
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.forget()
	return c.Conn.Close()
}
