package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/miniapi-dev/miniapi/pkg/server/apiendpoints"
	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
	"github.com/miniapi-dev/miniapi/pkg/server/listener"
	"github.com/miniapi-dev/miniapi/pkg/server/peers"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// endpoint is the open port of a server, with the addresses by which clients reach it.
type endpoint struct {
	*listener.Listener
	addresses listener.Addresses
}

// listen opens the port, and names the server among its peers if flags turn peering on.
func listen(o CompletedOptions, generic *genericapiserver.Config, l *lifetime) (endpoint, error) {
	serving := *o.Serving
	if err := listener.Open(&serving); err != nil {
		return endpoint{}, err
	}
	opened := listener.New(serving.Listener)
	l.interrupt(func() error {
		if err := opened.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	if o.Peers.Enabled() {
		host, err := os.Hostname()
		if err != nil {
			return endpoint{}, fmt.Errorf("reading the host name of this server: %w", err)
		}
		generic.APIServerID = peers.ServerID(host, opened.Addr().String())
	}
	if generic.PublicAddress == nil || generic.PublicAddress.IsUnspecified() {
		generic.PublicAddress = listener.PublicAddress(serving.BindAddress)
	}
	return endpoint{opened, listener.Addresses{
		Bound:         o.Serving.BindAddress,
		Public:        generic.PublicAddress,
		Advertise:     o.ServerRun.AdvertiseAddress,
		AdvertiseHost: o.AdvertiseHost,
		External:      o.ServerRun.ExternalHost,
		ServiceRange:  o.serviceRange[0],
	}}, nil
}

// inEndpoints returns the server's address in the endpoints of the service "kubernetes", if it has one.
func (e endpoint) inEndpoints(o CompletedOptions) (netip.Addr, bool) {
	address, ok := netip.AddrFromSlice(e.addresses.Advertised())
	return address.Unmap(), ok && o.EndpointReconcilerType != "none"
}

// serverLeases is a name without a served resource. The storage factory makes the storage configuration for the leases
// of servers by this name, as in kube-apiserver.
var serverLeases = schema.GroupResource{Resource: "apiServerIPInfo"}

// newAPIEndpoints makes the endpoints of the service "kubernetes" those of all servers of an external etcd, or that of this
// server alone. It returns nil if the start writes the endpoints, or if nothing does.
func newAPIEndpoints(o CompletedOptions, clients *clients, e endpoint, store *etcd.Etcd, factory serverstorage.StorageFactory, l *lifetime) (*apiendpoints.Reconciler, error) {
	address, ok := e.inEndpoints(o)
	if !ok || store.Embedded() || !o.isCluster() {
		return nil, nil
	}
	var leases *storagebackend.ConfigForResource
	if o.EndpointReconcilerType == "lease" {
		var err error
		if leases, err = factory.NewConfig(serverLeases, &corev1.Endpoints{}); err != nil {
			return nil, err
		}
	}
	config := bootstrap.Config{SecurePort: int32(e.port()), Served: o.enabled.ResourceEnabled}
	made, err := apiendpoints.New(apiendpoints.Config{
		Address: address,
		Leases:  leases,
		Present: func(ctx context.Context) ([]netip.Addr, error) { return bootstrap.Endpoints(ctx, clients.typed) },
		Ensure: func(ctx context.Context, live []netip.Addr) error {
			config := config
			config.Endpoints = live
			return bootstrap.EnsureEndpoints(ctx, clients.typed, config)
		},
	})
	if err == nil {
		l.waitFor(made.Close)
	}
	return made, err
}

// port returns the port number.
func (e endpoint) port() int { return e.Addr().(*net.TCPAddr).Port }

// localURL returns the URL for clients on the same machine.
func (e endpoint) localURL() string { return "https://" + e.localAddress() }

// localAddress returns the address for clients on the same machine. If the server listens on all addresses, it is on
// 127.0.0.1.
func (e endpoint) localAddress() string {
	host := e.Addr().(*net.TCPAddr).IP
	if host.IsUnspecified() {
		host = net.IPv4(127, 0, 0, 1)
	}
	return net.JoinHostPort(host.String(), strconv.Itoa(e.port()))
}

// secure configures the server to serve on the endpoint with the certificate of the options, or with one that the
// authority issues.
func secure(o CompletedOptions, generic *genericapiserver.Config, e endpoint, authority *pki.Authority) error {
	serving := *o.Serving
	serving.Listener = e.Listener
	if serving.ServerCert.CertKey.CertFile == "" && serving.ServerCert.GeneratedCert == nil {
		names, err := e.addresses.Names()
		if err != nil {
			return err
		}
		if namespace, name := o.registeredService(); name != "" {
			names.DNS = append(names.DNS, name+"."+namespace+".svc")
		}
		if err := o.servingKeys().Serving(authority, names, &serving); err != nil {
			return err
		}
	}
	if err := serving.ApplyTo(&generic.SecureServing); err != nil {
		return fmt.Errorf("serving on %s: %w", e.Addr(), err)
	}
	return nil
}
