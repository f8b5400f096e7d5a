package server

import (
	"context"
	"net"
	"time"
)

// webhookConnections are a server's connections to webhooks. They end with it: left to
// themselves, idle ones and those that are being made stay for a while.
type webhookConnections struct {
	open  context.Context
	close context.CancelFunc
}

func newWebhookConnections() *webhookConnections {
	open, closeAll := context.WithCancel(context.Background())
	return &webhookConnections{open, closeAll}
}

func (c *webhookConnections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.open, cancel)()
	dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second} // as client-go's own
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &webhookConnection{conn, context.AfterFunc(c.open, func() { _ = conn.Close() })}, nil
}

// webhookConnection is forgotten when it is closed.
type webhookConnection struct {
	net.Conn
	forget func() bool
}

// Close implements net.Conn.
func (c *webhookConnection) Close() error {
	c.forget()
	return c.Conn.Close()
}
