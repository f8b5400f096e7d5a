package external

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"log" //nolint:depguard // net/http writes its errors to a logger of this package
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/storage/storagebackend"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	tcp := serveEtcd(t, "tcp", "127.0.0.1:0")
	socket := serveEtcd(t, "unix", filepath.Join(t.TempDir(), "etcd.sock"))
	web := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	strict := httptest.NewUnstartedServer(http.NotFoundHandler())
	strict.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
	strict.Config.ErrorLog = log.New(io.Discard, "", 0)
	strict.StartTLS()
	t.Cleanup(strict.Close)
	authority := filepath.Join(t.TempDir(), "ca.crt")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: strict.Certificate().Raw})
	if err := os.WriteFile(authority, block, 0o600); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	const closed = "http://127.0.0.1:1"

	for _, c := range []struct {
		name, reason string
		config       storagebackend.TransportConfig
		want         []string // parts of the error; empty if none is expected
	}{
		{"http", "the usual URL", storagebackend.TransportConfig{ServerList: []string{"http://" + tcp}}, nil},
		{"bare address", "etcd's client accepts a bare address too", storagebackend.TransportConfig{ServerList: []string{tcp}}, nil},
		{"unix", "a socket file", storagebackend.TransportConfig{ServerList: []string{"unix://" + socket}}, nil},
		{"one of two", "a cluster works without one of its members",
			storagebackend.TransportConfig{ServerList: []string{closed, "http://" + tcp}}, nil},
		{"no server", "the error has a reason for each server",
			storagebackend.TransportConfig{ServerList: []string{closed, "http://127.0.0.1:2"}},
			[]string{closed + ": ", "127.0.0.1:2: ", "connection refused"}},
		{"silent", "the server accepts connections and answers nothing",
			storagebackend.TransportConfig{ServerList: []string{"http://" + silent.Addr().String()}},
			[]string{silent.Addr().String(), "doesn't answer as etcd"}},
		{"unknown authority", "no trusted authority has signed the certificate",
			storagebackend.TransportConfig{ServerList: []string{web.URL}}, []string{web.URL, "certificate"}},
		{"no client certificate", "the server's error comes after the client's part of the handshake",
			storagebackend.TransportConfig{ServerList: []string{strict.URL}, TrustedCAFile: authority},
			[]string{strict.URL, "client certificate", "certificate required"}},
		{"no CA file", "the error names the file",
			storagebackend.TransportConfig{ServerList: []string{web.URL}, TrustedCAFile: "/nowhere/ca.crt"},
			[]string{"/nowhere/ca.crt"}},
		{"none", "the flag with the servers is empty", storagebackend.TransportConfig{}, []string{"no etcd servers"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if len(c.want) > 0 {
				over := &dialCounter{servers: len(c.config.ServerList), enough: cancel, dials: map[string]int{}}
				c.config.EgressLookup = over.lookup
			}
			etcd, err := New(c.config)
			if err == nil {
				err = etcd.Check(ctx)
			}
			if (err != nil) != (len(c.want) > 0) {
				t.Fatalf("error %v: %s", err, c.reason)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q in it: %s", err, want, c.reason)
				}
			}
		})
	}
}

// Check waits for a server that starts a little later than the process that needs the server.
func TestCheckWaits(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "etcd.sock")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	refused, found := make(chan error, 1), make(chan error, 1)
	e := &Etcd{dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		select {
		case refused <- err:
		default: // later calls change nothing
		}
		return conn, err
	}}
	go func() { found <- e.probeUntil(ctx, "unix://"+socket) }()
	if err := <-refused; err == nil {
		t.Fatal("a server that isn't there takes connections")
	}
	serveEtcd(t, "unix", socket)
	if err := <-found; err != nil {
		t.Errorf("not found once it is there: %v", err)
	}
}

// late is a context whose deadline has passed, and whose channel Done isn't closed yet.
type late struct{ context.Context }

// When the context ends, probeUntil returns the error of an earlier probe, if there is one.
func TestProbeTellsTheReason(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	reasons := []error{syscall.ECONNREFUSED, os.ErrDeadlineExceeded, context.Canceled}
	e := &Etcd{dial: func(context.Context, string, string) (net.Conn, error) {
		reason := reasons[0]
		if reasons = reasons[1:]; len(reasons) == 0 {
			cancel()
		}
		return nil, reason
	}}
	if err := e.probeUntil(late{ctx}, "http://127.0.0.1:1"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("want the first of the reasons, got %v", err)
	}
}
