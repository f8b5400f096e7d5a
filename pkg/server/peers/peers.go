package peers

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/reconcilers"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/peerproxy"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/klog/v2"
)

const (
	// peerName is the host name that the certificate of every peer must have. The server connects to the stored
	// address of a peer, not to an address of this name.
	peerName = "kubernetes.default.svc"

	// addressesKey is the prefix of the etcd keys with the addresses of servers. An address expires after addressTTL,
	// and its server renews it every addressRenewal.
	addressesKey   = "/peerserverleases/"
	addressTTL     = 15 * time.Second
	addressRenewal = 10 * time.Second

	// leaveTimeout limits the time in which a stopping server removes its Lease and its address. If the removal takes
	// longer, a peer notices the stop when the server doesn't answer.
	leaveTimeout = 5 * time.Second
)

// Config has the parts of the server that Peers need. All fields are required, but CertFile and KeyFile only with
// Options.CAFile.
type Config struct {
	// ServerID is the server's name. Address is the HOST:PORT at which peers reach the server.
	ServerID, Address string
	// Client is a typed client of this server itself. Loopback is the configuration of Client.
	Client   kubernetes.Interface
	Loopback *rest.Config
	// Addresses has the storage options for the addresses of peers. An address is stored as Endpoints.
	Addresses *storagebackend.ConfigForResource
	// CertFile and KeyFile are a client certificate and its key. Because of the certificate, peers trust the name of
	// the user in this server's requests.
	CertFile, KeyFile string
	// Dial connects to peers.
	Dial *transport.DialHolder
	// Serializer encodes the errors that the proxy returns to clients.
	Serializer runtime.NegotiatedSerializer
	// Discovery is aggregated discovery of this server's own resources.
	Discovery aggregated.ResourceManager
}

// Peers finds the other servers of the same etcd, and passes requests on to them.
type Peers struct {
	config    Config
	addresses reconcilers.PeerEndpointLeaseReconciler
	address   *reconcilers.PeerEndpointLeaseController
	identity  lease.Controller

	// proxy, informers and discovery are nil if the server passes no request on.
	proxy     peerproxy.Interface
	informers informers.SharedInformerFactory
	discovery aggregated.PeerAggregatedResourceManager
	// changes counts the calls of DiscoveryChanged.
	changes atomic.Int64

	begin   sync.Once
	running sync.WaitGroup
	// announced becomes true when Start begins to announce the server.
	announced atomic.Bool
}

// New returns Peers. They are inactive before Start. Close ends their connections.
func New(o *Options, config Config) (*Peers, error) {
	p := &Peers{config: config}
	var err error
	if p.identity, err = newIdentity(config.Client, config.ServerID, config.Address); err != nil {
		return nil, err
	}
	if p.addresses, err = reconcilers.NewPeerEndpointLeaseReconciler(config.Addresses, addressesKey, addressTTL); err != nil {
		return nil, fmt.Errorf("storing the addresses of servers: %w", err)
	}
	p.address = reconcilers.New(config.ServerID, config.Address, p.addresses, addressRenewal, config.Client)
	if o.CAFile == "" {
		return p, nil
	}
	if err := p.buildProxy(o.CAFile); err != nil {
		p.addresses.Destroy()
		return nil, err
	}
	return p, nil
}

func (p *Peers) buildProxy(caFile string) error {
	authorities, err := os.ReadFile(caFile)
	if err == nil {
		_, err = certutil.ParseCertsPEM(authorities)
	}
	if err != nil {
		return fmt.Errorf("--peer-ca-file %s: must be a file of PEM encoded certificates: %w", caFile, err)
	}
	p.informers = informers.NewSharedInformerFactoryWithOptions(p.config.Client, 0, informers.WithNamespace(metav1.NamespaceSystem),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = identityLabel + "=" + identity }))
	proxy, err := peerproxy.NewPeerProxyHandler(p.config.ServerID, identityLabel+"="+identity, p.informers.Coordination().V1().Leases(),
		p.addresses, p.config.Serializer, p.config.Loopback, &transport.Config{
			TLS: transport.TLSConfig{
				ServerName: peerName, CAData: authorities,
				// The function reads the files again, because they may be replaced while the server runs.
				GetCertHolder: &transport.GetCertHolder{GetCert: p.certificate},
			},
			DialHolder: p.config.Dial,
		})
	if err != nil {
		return err
	}
	p.proxy = proxy
	p.discovery = aggregated.NewPeerAggregatedDiscoveryHandler(p.config.ServerID, p.config.Discovery, proxy, "apis")
	proxy.RegisterCacheInvalidationCallback(p.DiscoveryChanged)
	p.config.Discovery.AddInvalidationCallback(p.DiscoveryChanged) // replaces the callback of p.discovery
	return nil
}

func (p *Peers) certificate() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(p.config.CertFile, p.config.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("--proxy-client-cert-file %s and --proxy-client-key-file %s: %w", p.config.CertFile, p.config.KeyFile, err)
	}
	return &pair, nil
}

// Handler passes requests for resources that this server lacks to a peer that has them, and other requests to next.
// Without Options.CAFile, Handler returns next.
func (p *Peers) Handler(next http.Handler) http.Handler {
	if p.proxy == nil {
		return next
	}
	return p.proxy.WrapHandler(next)
}

// Start announces this server to its peers. With Options.CAFile, it reads the Leases of the peers first. Start returns
// an error if the context "starting" ends before the address is stored. It must be called only when the server can
// answer its own requests. The background work of Peers ends with ctx.
func (p *Peers) Start(starting, ctx context.Context) error {
	p.run(ctx)
	if p.proxy != nil {
		p.informers.StartWithContext(ctx)
		if err := p.proxy.RunLocalDiscoveryCacheSync(ctx.Done()); err != nil {
			return fmt.Errorf("finding the resources of this server: %w", err)
		}
		if err := p.proxy.WaitForCacheSync(starting.Done()); err != nil {
			return fmt.Errorf("waiting for the Leases of the other servers: %w", err)
		}
	}
	announced := make(chan error, 1)
	p.announced.Store(true)
	p.running.Go(func() { announced <- p.announce(ctx) })
	select {
	case err := <-announced:
		return err
	case <-starting.Done():
		return fmt.Errorf("--peer-*: storing the address of this server for its peers: %w", context.Cause(starting))
	}
}

// announce writes the server's address, and then starts to write its Lease: a new Lease makes peers read the address.
// Goroutines renew the address and the Lease until ctx ends.
func (p *Peers) announce(ctx context.Context) error {
	if err := p.address.UpdatePeerEndpointLeases(); err != nil {
		klog.FromContext(ctx).Error(err, "the address of this server isn't stored for the other servers of the same etcd yet")
	}
	p.running.Go(func() { p.address.Run(ctx.Done()) })
	if err := p.identity.Start(ctx.Done()); err != nil {
		return fmt.Errorf("--peer-*: starting the Lease by which peers find this server: %w", err)
	}
	p.running.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) { collect(ctx, p.config.Client, time.Now()) }, collectionPeriod)
	})
	return nil
}

// run runs the part of k8s.io/apiserver that passes requests on, until ctx ends. Only the first call has an effect.
func (p *Peers) run(ctx context.Context) {
	p.begin.Do(func() {
		if p.proxy == nil {
			return
		}
		p.running.Go(func() { p.proxy.RunPeerDiscoveryCacheSync(ctx, 1) })
		p.running.Go(func() { p.proxy.RunPeerDiscoveryActiveGVTracker(ctx) })
		p.running.Go(func() { p.proxy.RunPeerDiscoveryRefilter(ctx) })
	})
}

// Leave removes the server's Lease and address at the beginning of a stop, so that peers send no more requests. The
// server must still be able to answer its own requests.
func (p *Peers) Leave() {
	if !p.announced.Load() {
		return
	}
	left := make(chan struct{})
	p.running.Go(func() {
		defer close(left)
		p.identity.Stop()
		p.address.Stop()
	})
	timeout := time.NewTimer(leaveTimeout)
	defer timeout.Stop()
	select {
	case <-left:
	case <-timeout.C:
	}
}

// Close ends the Peers, and returns when their background work has ended.
func (p *Peers) Close() {
	ended, end := context.WithCancel(context.Background())
	end()
	p.run(ended)
	p.addresses.Destroy()
	p.running.Wait()
	if p.informers != nil {
		p.informers.Shutdown()
	}
}
