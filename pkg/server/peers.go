package server

import (
	"fmt"
	"net"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/transport"

	"github.com/miniapi-dev/miniapi/pkg/server/peers"
)

// peerAddresses is the resource name under which a server stores its address for its peers. As in kube-apiserver, the
// storage options of a resource of this name apply to the addresses.
var peerAddresses = schema.GroupResource{Resource: "apiServerPeerIPInfo"}

// identify sets the server's name among its peers, if flags turn peering on.
func identify(c *Config) error {
	if !c.options.Peers.Enabled() {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("reading the host name of this server: %w", err)
	}
	c.generic.APIServerID = peers.ServerID(host, c.listener.Addr().String())
	return nil
}

// buildPeers makes the server a peer of the servers that share its external etcd, if flags turn peering on.
func buildPeers(c *Config, factory serverstorage.StorageFactory) error {
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
	c.apis.peers, err = peers.New(o.Peers, peers.Config{
		ServerID:   c.generic.APIServerID,
		Address:    address,
		Client:     c.clients.typed,
		Loopback:   c.generic.LoopbackClientConfig,
		Addresses:  addresses,
		CertFile:   o.ProxyClientCertFile,
		KeyFile:    o.ProxyClientKeyFile,
		Dial:       &transport.DialHolder{Dial: c.webhooks.Dial},
		Serializer: c.generic.Serializer,
		Discovery:  c.apis.discovery.ResourceManager,
	})
	if err != nil {
		return err
	}
	c.apis.discovery.OnGroupRemoved = c.apis.peers.DiscoveryChanged
	return nil
}

// excludeFromPeers excludes custom resources and the APIs of other servers from the requests that this server passes
// on to its peers. Every peer has the same definitions and APIServices, so this server handles these requests itself.
func excludeFromPeers(c *Config, apiServices cache.SharedIndexInformer) error {
	if c.apis.peers == nil {
		return nil
	}
	return c.apis.peers.Exclude(c.apis.customResources.Informers().Apiextensions().V1().CustomResourceDefinitions().Informer(), apiServices)
}
