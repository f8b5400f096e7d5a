package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	netutils "k8s.io/utils/net"
)

// errNotProxied is kube-apiserver's error for an address to which a proxy must not connect.
var errNotProxied = errors.New("address not allowed")

// proxied reports whether a proxy may connect to an address. The address of the metadata service of a cloud, for
// example, is link-local. Unlike kube-apiserver, miniapi allows loopback addresses: in development, servers on this
// machine stand in for pods and nodes.
func proxied(address string) bool {
	ip := netutils.ParseIPSloppy(address)
	return ip != nil && (ip.IsGlobalUnicast() || ip.IsLoopback())
}

// checkHost returns an error unless a proxy may connect to every address of a host.
func checkHost(ctx context.Context, host string) error {
	addresses, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return err
	}
	if len(addresses) == 0 {
		return errors.New("no addresses for hostname")
	}
	for _, a := range addresses {
		if !proxied(a.IP.String()) {
			return errNotProxied
		}
	}
	return nil
}

// Transports makes the transports of a proxy. They connect only to addresses that a proxy may connect to, even if a
// name has other addresses when it is resolved again for the connection.
type Transports struct {
	// route returns the address at which this machine reaches a port of a pod (see Kubelet). It may be nil.
	route func(address string) (string, error)
	made  []*http.Transport
}

// with returns a transport with a TLS configuration.
func (t *Transports) with(config *tls.Config) http.RoundTripper {
	dialer := &net.Dialer{
		Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, // the values of client-go
		Control: func(_, address string, _ syscall.RawConn) error {
			host, _, err := net.SplitHostPort(address)
			if err == nil && !proxied(host) {
				err = errNotProxied
			}
			return err
		},
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if t.route != nil {
			routed, err := t.route(address)
			if err != nil {
				return nil, err
			}
			address = routed
		}
		return dialer.DialContext(ctx, network, address)
	}
	made := utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: config, DialContext: dial})
	t.made = append(t.made, made)
	return made
}

// unverified returns a transport to pods, to endpoints of services and to ports of nodes. It doesn't verify
// certificates, because a pod has no certificate for its address.
func (t *Transports) unverified() http.RoundTripper {
	return t.with(&tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the comment has the reason
}

func (t *Transports) closeIdleConnections() {
	for _, transport := range t.made {
		transport.CloseIdleConnections()
	}
}
