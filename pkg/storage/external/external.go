// Package external connects to an etcd that other processes reach. It checks whether the etcd's servers answer, and
// shows other API servers on the etcd that this API server runs.
//
// [New] is the constructor. Don't use the package for stores: k8s.io/apiserver's EtcdOptions and
// storage.ExternalRESTOptionsGetter make them. Don't use it for an etcd in the process, which is a storage.Member.
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

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// retry is the time between two attempts of Check to reach a server.
const retry = 100 * time.Millisecond

// Etcd is an external etcd, of one or more servers.
type Etcd struct {
	servers []string
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	tls     *tls.Config
}

// New returns the etcd of the transport. New doesn't connect to the etcd.
func New(c storagebackend.TransportConfig) (*Etcd, error) {
	if len(c.ServerList) == 0 {
		return nil, errors.New("no etcd servers are given: the list needs at least one URL")
	}
	e := &Etcd{servers: c.ServerList, dial: (&net.Dialer{}).DialContext}
	if c.CertFile != "" || c.KeyFile != "" || c.TrustedCAFile != "" {
		var err error
		info := transport.TLSInfo{CertFile: c.CertFile, KeyFile: c.KeyFile, TrustedCAFile: c.TrustedCAFile}
		if e.tls, err = info.ClientConfig(); err != nil {
			return nil, fmt.Errorf("etcd client certificate %q with key %q and authorities %q: %w", c.CertFile, c.KeyFile, c.TrustedCAFile, err)
		}
	}
	if c.EgressLookup != nil {
		dial, err := c.EgressLookup(egressselector.Etcd.AsNetworkContext())
		if err != nil {
			return nil, fmt.Errorf("looking up the egress to etcd: %w", err)
		}
		if dial != nil {
			e.dial = dial
		}
	}
	return e, nil
}

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

// client returns a client of servers of the etcd. Calls of the client end with ctx.
func (e *Etcd) client(ctx context.Context, servers ...string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Context:     ctx,
		Endpoints:   servers,
		TLS:         e.tls,
		Logger:      zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(e.dialEndpoint)},
	})
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

// dialEndpoint dials an endpoint. An endpoint is a URL or a bare address, as in etcd's client.
func (e *Etcd) dialEndpoint(ctx context.Context, endpoint string) (net.Conn, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" && u.Path == "" {
		return e.dial(ctx, "tcp", endpoint)
	}
	switch u.Scheme {
	case "unix", "unixs":
		return e.dial(ctx, "unix", u.Host+u.Path)
	case "http", "https":
		return e.dial(ctx, "tcp", u.Host)
	default:
		return e.dial(ctx, "tcp", endpoint)
	}
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
