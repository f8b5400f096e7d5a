package reload

import (
	"context"
	"net"
	"time"
)

// Dial returns a function that makes network connections. When the context open ends, all connections are closed,
// including idle connections and connections that aren't complete.
func Dial(open context.Context) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		// On loopback, a connection may be complete before AfterFunc runs, so check first whether the context open has
		// ended.
		if err := open.Err(); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(open, cancel)()
		dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second} // the values of client-go
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &connection{conn, context.AfterFunc(open, func() { _ = conn.Close() })}, nil
	}
}

// connection is a connection that Dial has made. Close calls forget, so that the end of Dial's context open doesn't
// close the connection a second time.
type connection struct {
	net.Conn
	forget func() bool
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.forget()
	return c.Conn.Close()
}
