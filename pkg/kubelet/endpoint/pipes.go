package endpoint

import (
	"context"
	"net"
)

// pipes is a listener in the process. A TLS connection over a pipe survives the deadlines by which net/http takes a
// connection over for a session.
type pipes struct {
	ends   chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func newPipes() *pipes {
	p := &pipes{ends: make(chan net.Conn)}
	p.closed, p.close = context.WithCancel(context.Background())
	return p
}

// dial connects to the listener.
func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.ends <- server:
		return client, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case end := <-p.ends:
		return end, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.close()
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "kubelet", Net: "pipe"} }
