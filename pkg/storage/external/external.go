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

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

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

// client returns a client of servers of the etcd. The end of ctx ends the keep-alive of sessions. Each call of the
// client has a context of its own.
func (e *Etcd) client(ctx context.Context, servers ...string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Context:     ctx,
		Endpoints:   servers,
		TLS:         e.tls,
		Logger:      zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(e.dialEndpoint)},
	})
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
