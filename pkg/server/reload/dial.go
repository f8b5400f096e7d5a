package reload

import (
	"context"
	"net"
	"time"
)

// Dial returns what makes connections that end with a context. Left to themselves, idle ones and those that are
// being made stay for a while.
func Dial(open context.Context) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := open.Err(); err != nil { // AfterFunc may come later than a connection on loopback
			return nil, err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(open, cancel)()
		dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second} // as client-go's own
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &connection{conn, context.AfterFunc(open, func() { _ = conn.Close() })}, nil
	}
}

// connection is forgotten when it is closed.
type connection struct {
	net.Conn
	forget func() bool
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.forget()
	return c.Conn.Close()
}
