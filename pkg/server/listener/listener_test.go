package listener

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// connect returns a listener, and both ends of a connection to it.
func connect(t *testing.T) (l *Listener, client net.Conn, c *connection) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = New(inner)
	t.Cleanup(func() { _ = l.Close() })
	if client, err = net.Dial("tcp", inner.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return l, client, accepted.(*connection)
}

// After a stop, a connection stays open for answerGrace only if a client reads a response from it.
func TestListenerStop(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		// before has the requests before the stop, and after has the requests after it.
		before, after []string
		want          bool
	}{
		{"idle", "no client waits", nil, nil, false},
		{"watch", "a watch has no answer, it ends", []string{"/watch"}, nil, false},
		{"request", "its client waits", []string{"/get"}, nil, true},
		{"request beside a watch", "they share a connection", []string{"/watch", "/get"}, nil, true},
		{"request beside a watch, the other way round", "they share a connection", []string{"/get", "/watch"}, nil, true},
		{"late request", "the client hasn't read that it is to go away", nil, []string{"/get"}, true},
		{"late watch", "it is refused", nil, []string{"/watch"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, client, c := connect(t)
			l.LongRunning = func(req *http.Request) bool { return req.URL.Path == "/watch" }
			begin := func(path string) *http.Request {
				req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
				req.RemoteAddr = client.LocalAddr().String()
				if l.begin(req) != c {
					t.Fatalf("the connection of %s isn't found", path)
				}
				return req
			}
			l.finish(c, begin("/get")) // this request is over before the stop
			for _, path := range test.before {
				begin(path)
			}
			l.Stop()
			for _, path := range test.after {
				begin(path)
			}
			if c.answering != test.want {
				t.Errorf("want it kept %t because %s, got %t", test.want, test.reason, c.answering)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if len(l.open) > 0 {
				t.Error("a closed connection is still listed")
			}
		})
	}
}
