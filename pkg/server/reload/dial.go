package reload

import (
	"context"
	"net"
	"time"
)

// Dial returns a function that makes connections, which end with open. Without it, idle connections and those that are
// being made would stay for a while.
func Dial(open context.Context) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := open.Err(); err != nil { // on loopback, a connection can be made before AfterFunc runs
			return nil, err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(open, cancel)()
		dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second} // the same as client-go's
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &connection{conn, context.AfterFunc(open, func() { _ = conn.Close() })}, nil
	}
}

// connection removes its AfterFunc when it is closed.
type connection struct {
	net.Conn
	forget func() bool
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.forget()
	return c.Conn.Close()
}
