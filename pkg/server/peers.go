package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/transport"

	"github.com/miniapi-dev/miniapi/pkg/server/peers"
)

// peerAddresses is the resource by whose storage options the addresses of peers are stored, as in kube-apiserver.
var peerAddresses = schema.GroupResource{Resource: "apiServerPeerIPInfo"}

func (o *Options) validatePeers() []error {
	errs := o.Peers.Validate()
	if o.Peers.Enabled() && len(o.Etcd.StorageConfig.Transport.ServerList) == 0 {
		errs = append(errs, errors.New("--peer-ca-file, --peer-advertise-ip and --peer-advertise-port must be given together with --etcd-servers: no other server has an embedded etcd"))
	}
	if o.Peers.CAFile != "" && o.ProxyClientCertFile == "" {
		errs = append(errs, fmt.Errorf("--peer-ca-file %s: must be given together with --proxy-client-cert-file and --proxy-client-key-file, which prove to the other servers that this one may name the client of a request", o.Peers.CAFile))
	}
	// A server that signs its own certificate may be its peers' authority: the file may not be there yet.
	if filepath.Dir(o.Peers.CAFile) != filepath.Clean(o.Serving.ServerCert.CertDirectory) {
		errs = append(errs, checkAuthorities("peer-ca-file", o.Peers.CAFile))
	}
	return errs
}

// identify gives the server the name by which its peers know it, if it has any.
func (c *Config) identify() error {
	if !c.options.Peers.Enabled() {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("the host of this server has no name: %w", err)
	}
	c.generic.APIServerID = peers.ServerID(host, c.listener.Addr().String())
	return nil
}

// buildPeers makes the server one of those that share an external etcd, if flags say so.
func (c *Config) buildPeers(factory serverstorage.StorageFactory) error {
	o := c.options
	if !o.Peers.Enabled() {
		return nil
	}
	addresses, err := factory.NewConfig(peerAddresses, &corev1.Endpoints{})
	if err != nil {
		return err
	}
	address := net.JoinHostPort(o.Peers.AdvertiseIP, o.Peers.AdvertisePort)
	if o.Peers.AdvertiseIP == "" {
		port := c.listener.Addr().(*net.TCPAddr).Port
		address = net.JoinHostPort(c.generic.PublicAddress.String(), strconv.Itoa(port))
	}
	c.peers, err = peers.New(o.Peers, peers.Config{
		ServerID:   c.generic.APIServerID,
		Address:    address,
		Client:     c.client,
		Loopback:   c.generic.LoopbackClientConfig,
		Addresses:  addresses,
		CertFile:   o.ProxyClientCertFile,
		KeyFile:    o.ProxyClientKeyFile,
		Dial:       &transport.DialHolder{Dial: c.webhookConnections.dial},
		Serializer: c.generic.Serializer,
		Discovery:  c.discovery.ResourceManager,
	})
	if err != nil {
		return err
	}
	c.discovery.OnGroupRemoved = c.peers.DiscoveryChanged
	return nil
}

// withPeers is a handler of what peers have and this server lacks.
func (c *Config) withPeers(next http.Handler) http.Handler {
	if c.peers == nil {
		return next
	}
	return c.peers.Handler(next)
}

// peerDiscovery serves aggregated discovery of this server and its peers. It is nil if there are none.
func (c *Config) peerDiscovery() http.Handler {
	if c.peers == nil || c.peers.Discovery() == nil {
		return nil
	}
	return c.discovery.Filled(c.peers.Discovery())
}

// excludeFromPeers leaves to this server what every server has by itself.
func (s *Server) excludeFromPeers(apiServices cache.SharedIndexInformer) error {
	if s.config.peers == nil {
		return nil
	}
	return s.config.peers.Exclude(s.config.customResources.Informers().Apiextensions().V1().CustomResourceDefinitions().Informer(), apiServices)
}
