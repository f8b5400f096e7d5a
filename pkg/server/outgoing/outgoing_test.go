package outgoing

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// TestConnections checks that Close ends the connections of one server, but not the connections of another. The closed
// Connections make no more connections.
func TestConnections(t *testing.T) {
	t.Parallel()
	webhook, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = webhook.Close() }()
	one, another := New(t.Context()), New(t.Context())
	accept := func(c *Connections) (client, server net.Conn) {
		t.Helper()
		client, err := c.Dial(t.Context(), "tcp", webhook.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if server, err = webhook.Accept(); err != nil {
			t.Fatal(err)
		}
		if err := server.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		return client, server
	}
	_, ended := accept(one)
	kept, lasting := accept(another)

	one.Close()
	if _, err := ended.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("want the connection to be closed, got %v", err)
	}
	if _, err := one.Dial(t.Context(), "tcp", webhook.Addr().String()); !errors.Is(err, context.Canceled) {
		t.Errorf("want no more connections, got %v", err)
	}
	if _, err := kept.Write([]byte("x")); err != nil {
		t.Errorf("want the other server's connection to stay: %v", err)
	}
	if _, err := lasting.Read(make([]byte, 1)); err != nil {
		t.Errorf("want the other server's connection to stay: %v", err)
	}
	another.Close()
}
