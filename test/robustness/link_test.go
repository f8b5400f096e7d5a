//go:build unix

package robustness_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/condition"
)

// direction is a direction of a link.
type direction int

const (
	toServer direction = iota
	toClient
)

// weather is the condition of a link.
type weather struct {
	// delay is the time that data takes.
	delay time.Duration
	// held tells in which directions nothing arrives. Connections stay open.
	held [2]bool
	// refused tells whether new connections are closed at once.
	refused bool
}

// link forwards TCP connections to a server, whose address may change, and breaks them.
type link struct {
	listener net.Listener
	weather  condition.Variable[weather]

	mu          sync.Mutex
	target      string
	connections map[net.Conn]bool
}

// newLink returns a link to the address of a server.
func newLink(t *testing.T, target string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, target: target, connections: map[net.Conn]bool{}}
	go l.serve(t.Context())
	t.Cleanup(func() {
		_ = listener.Close()
		l.cut()
	})
	return l
}

func (l *link) address() string { return l.listener.Addr().String() }

// retarget sends new connections to another address.
func (l *link) retarget(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = address
}

func (l *link) serve(ctx context.Context) {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.forward(ctx, client)
	}
}

// forward forwards a connection until one side closes it, or the link is cut.
func (l *link) forward(ctx context.Context, client net.Conn) {
	defer client.Close()
	refused := false
	l.weather.Read(func(w weather) { refused = w.refused })
	l.mu.Lock()
	target := l.target
	l.mu.Unlock()
	if refused {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	l.mu.Lock()
	l.connections[client], l.connections[server] = true, true
	l.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	var pumps sync.WaitGroup
	pump := func(to, from net.Conn, d direction) {
		defer cancel()
		defer to.Close()
		defer from.Close()
		l.pump(ctx, to, from, d)
	}
	pumps.Go(func() { pump(server, client, toServer) })
	pumps.Go(func() { pump(client, server, toClient) })
	pumps.Wait()
	l.mu.Lock()
	delete(l.connections, client)
	delete(l.connections, server)
	l.mu.Unlock()
}

func (l *link) pump(ctx context.Context, to io.Writer, from io.Reader, d direction) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			var delay time.Duration
			if l.weather.Wait(ctx, func(w weather) bool { delay = w.delay; return !w.held[d] }) != nil {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(delay):
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cut closes all connections.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.connections {
		_ = c.Close()
	}
}

// during changes the weather for a random time, and returns to fair weather.
func (l *link) during(ctx context.Context, random *rand.Rand, w weather) {
	l.weather.Set(w)
	last(ctx, random, longestFault)
	l.weather.Set(weather{})
}

// faults returns the faults of links. The name of what they connect begins the kinds of the faults.
func faults(name string, links ...*link) []fault {
	on := func(kind string, inject func(ctx context.Context, random *rand.Rand, l *link)) fault {
		return fault{name + ": " + kind, func(ctx context.Context, random *rand.Rand) error {
			inject(ctx, random, links[random.IntN(len(links))])
			return nil
		}}
	}
	held := func(directions ...direction) weather {
		w := weather{}
		for _, d := range directions {
			w.held[d] = true
		}
		return w
	}
	return []fault{
		on("connections cut", func(_ context.Context, _ *rand.Rand, l *link) { l.cut() }),
		on("connections refused", func(ctx context.Context, random *rand.Rand, l *link) {
			l.weather.Set(weather{refused: true})
			l.cut()
			l.during(ctx, random, weather{refused: true})
		}),
		on("delay", func(ctx context.Context, random *rand.Rand, l *link) {
			l.during(ctx, random, weather{delay: time.Duration(random.Int64N(int64(300 * time.Millisecond)))})
		}),
		on("pause", func(ctx context.Context, random *rand.Rand, l *link) {
			l.during(ctx, random, held(toServer, toClient))
		}),
		// The answers to these requests are lost: the connections are cut while they are held.
		on("answers lost", func(ctx context.Context, random *rand.Rand, l *link) {
			l.weather.Set(held(toClient))
			last(ctx, random, longestFault)
			l.cut()
			l.weather.Set(weather{})
		}),
		on("requests lost", func(ctx context.Context, random *rand.Rand, l *link) {
			l.weather.Set(held(toServer))
			last(ctx, random, longestFault)
			l.cut()
			l.weather.Set(weather{})
		}),
	}
}

// A link forwards both directions, holds one of them, and cuts connections.
func TestLink(t *testing.T) {
	t.Parallel()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = echo.Close() })
	received := make(chan byte, 10)
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				one := make([]byte, 1)
				for {
					if _, err := c.Read(one); err != nil {
						return
					}
					received <- one[0]
					if _, err := c.Write(one); err != nil {
						return
					}
				}
			}()
		}
	}()
	l := newLink(t, echo.Addr().String())
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", l.address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	send := func(c net.Conn, b byte) {
		t.Helper()
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	answer := make([]byte, 1)
	c := dial()
	send(c, 'a')
	if _, err := io.ReadFull(c, answer); err != nil || <-received != 'a' || !slices.Equal(answer, []byte("a")) {
		t.Errorf("want the byte back, got %q, %v", answer, err)
	}
	l.weather.Set(weather{held: [2]bool{toClient: true}})
	send(c, 'b')
	if got := <-received; got != 'b' {
		t.Errorf("want the byte to arrive while answers are held, got %q", got)
	}
	l.cut()
	if n, err := c.Read(answer); err == nil {
		t.Errorf("want the held answer to be lost, got %q", answer[:n])
	}
	l.weather.Set(weather{refused: true})
	if n, err := dial().Read(answer); err == nil {
		t.Errorf("want no connection, got %q", answer[:n])
	}
	l.weather.Set(weather{})
	c = dial()
	send(c, 'c')
	if _, err := io.ReadFull(c, answer); err != nil || !slices.Equal(answer, []byte("c")) {
		t.Errorf("want the byte back in fair weather, got %q, %v", answer, err)
	}
}
