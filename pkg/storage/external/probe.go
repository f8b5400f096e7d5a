package external

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"
)

// retry is the time between two attempts of Check to reach a server.
const retry = 100 * time.Millisecond

// Check checks whether the etcd can be used. It returns nil as soon as one of the servers answers. Otherwise its error
// has a reason for each server.
//
// Check tries each server again until ctx ends, because the server may still be starting. It doesn't try a server again
// whose certificate isn't trusted. Without this check, k8s.io/apiserver would try for 20 seconds, and its error would
// name no server.
func (e *Etcd) Check(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(e.servers))
	var wg sync.WaitGroup
	for i, server := range e.servers {
		wg.Go(func() {
			if errs[i] = e.probeUntil(ctx, server); errs[i] == nil {
				cancel() // one answer is enough
			}
		})
	}
	wg.Wait()
	reasons := make([]string, len(errs))
	for i, err := range errs {
		if err == nil {
			return nil
		}
		reasons[i] = fmt.Sprintf("%s: %v", e.servers[i], err)
	}
	return fmt.Errorf("no etcd server answers: %s", strings.Join(reasons, "; "))
}

// probeUntil probes a server until the server answers, until the server's certificate isn't trusted, or until ctx
// ends. When ctx ends, it returns an earlier error of a probe if there is one, because that error says why the
// server didn't answer.
func (e *Etcd) probeUntil(ctx context.Context, server string) error {
	var reason error
	for {
		err := e.probe(ctx, server)
		if err == nil {
			return nil
		}
		if reason == nil || !isOver(ctx) {
			reason = err
		}
		var untrusted *tls.CertificateVerificationError
		if errors.As(err, &untrusted) {
			return reason
		}
		select {
		case <-ctx.Done():
			return reason
		case <-time.After(retry):
		}
	}
}

// isOver reports whether the context has ended, or its deadline has passed. A dialer returns an error at the
// deadline, slightly before the context ends.
func isOver(ctx context.Context) bool {
	deadline, bounded := ctx.Deadline()
	return ctx.Err() != nil || bounded && !time.Now().Before(deadline)
}

// probe connects to a server and reads the server's status. It opens a connection without gRPC first, because gRPC
// would retry, and hide the reason of a failure.
func (e *Etcd) probe(ctx context.Context, server string) error {
	conn, err := e.connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()

	client, err := e.client(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if _, err := client.Status(ctx, server); err != nil {
		if refused := refusal(conn); refused != nil {
			return refused
		}
		return fmt.Errorf("accepts connections, but doesn't answer as etcd: %w", err)
	}
	return nil
}

// refusal returns the server's error about the client's certificate, or nil if the server sent none. In TLS 1.3,
// the error arrives after the client's handshake is complete.
func refusal(conn net.Conn) error {
	if _, ok := conn.(*tls.Conn); !ok {
		return nil
	}
	if err := conn.SetReadDeadline(time.Now().Add(retry)); err != nil {
		return nil
	}
	_, err := conn.Read(make([]byte, 1))
	var alert *net.OpError
	if errors.As(err, &alert) && alert.Op == "remote error" {
		return fmt.Errorf("refuses the client certificate, or requires one: %w", err)
	}
	return nil
}

// connect opens a connection. If the URL of the server is https or unixs, it also completes the TLS handshake.
func (e *Etcd) connect(ctx context.Context, server string) (net.Conn, error) {
	conn, err := e.dialEndpoint(ctx, server)
	if err != nil || !secure(server) {
		return conn, err
	}
	config := &tls.Config{}
	if e.tls != nil {
		config = e.tls.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = hostname(server)
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

func secure(endpoint string) bool {
	return strings.HasPrefix(endpoint, "https:") || strings.HasPrefix(endpoint, "unixs:")
}

func hostname(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil {
		return u.Hostname()
	}
	return ""
}
