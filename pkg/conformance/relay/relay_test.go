package relay

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const token = "token-of-the-run"

// startRelay starts a relay on loopback, and returns it with its endpoint.
func startRelay(t *testing.T) (*Relay, Endpoint) {
	t.Helper()
	r, err := Start(t.Context(), Options{Address: "127.0.0.1:0", ControlAddress: "127.0.0.1:0", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}}
	t.Cleanup(transport.CloseIdleConnections)
	return r, Endpoint{URL: "https://" + r.ControlAddress().String() + LinkPath, Transport: transport, Token: token}
}

// open opens a link from a relay to a server.
func open(t *testing.T, endpoint Endpoint, server *httptest.Server) *Link {
	t.Helper()
	link, err := Open(t.Context(), endpoint, server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	return link
}

// clientOf returns a client whose connections to a server go through a relay.
func clientOf(t *testing.T, server *httptest.Server, r *Relay) *http.Client {
	t.Helper()
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", r.Address().String())
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func do(ctx context.Context, client *http.Client, url string, body []byte) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return string(answer), err
}

// The relay carries many connections at the same time, and the client verifies the certificate of
// the server behind the relay.
func TestCarries(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%v", http2), func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || r.ProtoMajor == 2 != http2 {
					t.Errorf("a call over %s: %v", r.Proto, err)
				}
				_, _ = w.Write(body)
			}))
			server.EnableHTTP2 = http2
			server.StartTLS()
			t.Cleanup(server.Close)
			r, endpoint := startRelay(t)
			open(t, endpoint, server)
			client := clientOf(t, server, r)
			var clients sync.WaitGroup
			for i := range 40 {
				clients.Go(func() {
					want := strings.Repeat(fmt.Sprint(i), 200_000)
					if answer, err := do(t.Context(), client, server.URL, []byte(want)); err != nil || answer != want {
						t.Errorf("call %d: want %d bytes, got %d, and the error %v", i, len(want), len(answer), err)
					}
				})
			}
			clients.Wait()
		})
	}
}

// If one side ends a connection, the connection also ends on the other side.
func TestEnds(t *testing.T) {
	t.Parallel()
	begun, gone := make(chan struct{}), make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/abort" {
			panic(http.ErrAbortHandler)
		}
		close(begun)
		<-r.Context().Done()
		close(gone)
	}))
	t.Cleanup(server.Close)
	r, endpoint := startRelay(t)
	open(t, endpoint, server)
	client := clientOf(t, server, r)
	if _, err := do(t.Context(), client, server.URL+"/abort", nil); err == nil {
		t.Error("the server closes the connection: want an error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := do(ctx, client, server.URL+"/hang", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the client gives up: want %v, got %v", context.Canceled, err)
	}
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Error("the server's request goes on after the client has given up")
	}
}

// If no suite has a link, the relay closes connections. If a link breaks, the suite opens it again.
func TestLinks(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "yes") }))
	t.Cleanup(server.Close)
	r, endpoint := startRelay(t)
	client := clientOf(t, server, r)
	if _, err := do(t.Context(), client, server.URL, nil); err == nil {
		t.Error("no suite has a link: want an error")
	}
	link := open(t, endpoint, server)
	works := func() {
		t.Helper()
		var last error
		err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, last = do(ctx, client, server.URL, nil)
			return last == nil, nil
		})
		if err != nil {
			t.Error(err, last)
		}
	}
	works()
	client.CloseIdleConnections()
	r.replace(nil) // breaks the link
	works()
	link.Close()
	client.CloseIdleConnections()
	if _, err := do(t.Context(), client, server.URL, nil); err == nil {
		t.Error("the link is closed: want an error")
	}
}

// The relay refuses a link without the token of the run.
func TestToken(t *testing.T) {
	t.Parallel()
	_, endpoint := startRelay(t)
	endpoint.Token = "another"
	if _, err := Open(t.Context(), endpoint, "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "403 Forbidden: the token") {
		t.Errorf("want the answer 403 with its reason, got %v", err)
	}
	endpoint.Token = token
	endpoint.URL = strings.TrimSuffix(endpoint.URL, LinkPath) + "/other"
	if _, err := Open(t.Context(), endpoint, "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "404 Not Found") {
		t.Errorf("want the answer 404, got %v", err)
	}
	if _, err := Start(t.Context(), Options{Address: "127.0.0.1:0", ControlAddress: "127.0.0.1:0"}); err == nil {
		t.Error("a relay without a token: want an error")
	}
}
