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
		{"watch", "a watch has no complete response", []string{"/watch"}, nil, false},
		{"request", "the client of a request waits for the response", []string{"/get"}, nil, true},
		{"request beside a watch", "the request and the watch share a connection", []string{"/watch", "/get"}, nil, true},
		{"request beside a watch, the other way round", "the order of the watch and the request doesn't matter",
			[]string{"/get", "/watch"}, nil, true},
		{"late request", "the client may send a request before it reads GOAWAY", nil, []string{"/get"}, true},
		{"late watch", "a stopping server refuses a new watch", nil, []string{"/watch"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, client, c := connect(t)
			longRunning := func(req *http.Request) bool { return req.URL.Path == "/watch" }
			begin := func(path string) *http.Request {
				req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
				req.RemoteAddr = client.LocalAddr().String()
				if l.begin(req, longRunning) != c {
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
