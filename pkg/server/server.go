package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/discovery"
	"github.com/miniapi-dev/miniapi/pkg/server/groups"
	"github.com/miniapi-dev/miniapi/pkg/server/openapi"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
	"github.com/miniapi-dev/miniapi/pkg/server/version"
)

// Version is what /version answers and "miniapi version" prints: see version.Get.
func Version() apimachineryversion.Info { return version.Get() }

// Server is a server that can run, once.
type Server struct {
	config *Config
	main   *genericapiserver.GenericAPIServer
	groups []registry.APIGroup
	admin  pki.KeyPair
	ready  chan struct{}
	// creator creates what every cluster has, if nothing had been stored. It is set when the seeding has ended.
	creator *creator
	// background is what a start has left to be done.
	background sync.WaitGroup
}

// New builds the server. If it fails, the Config is closed.
func (c *Config) New(ctx context.Context) (_ *Server, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close(ctx))
		}
	}()
	s := &Server{config: c, ready: make(chan struct{})}
	if s.admin, err = c.authority.Client("system:admin", "system:masters"); err != nil {
		return nil, fmt.Errorf("creating the admin's certificate: %w", err)
	}
	if err := s.buildCustomResources(); err != nil {
		return nil, fmt.Errorf("serving custom resources: %w", err)
	}
	if err := s.buildMain(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) buildCustomResources() error {
	c := s.config
	return c.customResources.Build(customresources.Config{
		Generic:     *c.generic,
		Informers:   c.informers,
		OpenAPI:     schemas().CustomResourceDefinitions(),
		Etcd:        *c.options.Etcd,
		Stored:      c.stored,
		Alone:       c.alone,
		Services:    c.services,
		WebhookAuth: c.webhookAuth,
		Next:        genericapiserver.NewEmptyDelegateWithCustomHandler(notFound(c.generic)),
	})
}

func (s *Server) buildMain() error {
	c, config := s.config, s.config.generic
	completed := config.Complete(c.informers)
	main, err := completed.New("miniapi", c.customResources.Server())
	if err != nil {
		return err
	}
	s.main = main
	deps, err := c.dependencies()
	if err != nil {
		return err
	}
	table := builtin.Table()
	if s.groups, err = table.Build(config.MergedResourceConfig, deps); err != nil {
		return err
	}
	c.seeding.Go(func() error {
		if err := s.seed(c.life); err != nil {
			return fmt.Errorf("creating what every cluster has: %w", err)
		}
		return nil
	})
	installed, err := groups.Install(main, config, table, schemas().TypeConverter(), s.groups)
	if err != nil {
		return err
	}
	c.discovery.ServeFrom(installed.Filling(c.discovery.ResourceManager, func(group string) bool { return group != "" }))
	c.groups.Store(installed)
	c.groupList.Install(main, installed, c.peerDiscovery())
	if err := s.buildDiscovery(installed); err != nil {
		return err
	}
	c.installServingCertificates(main)
	return c.installTokenDiscovery(main)
}

// buildDiscovery serves the list of groups and OpenAPI, which change with custom resources and other servers.
func (s *Server) buildDiscovery(installed *groups.Groups) error {
	c := s.config
	crds := c.customResources.Server()
	definitions := c.customResources.Informers().Apiextensions().V1().CustomResourceDefinitions()
	described := []openapi.Part{
		schemas().Kinds(installed.Services(s.main)), schemas().Definitions(crds.Handler.GoRestfulContainer.RegisteredWebServices()),
	}
	if err := c.customResources.HideGroup(); err != nil {
		return err
	}
	v3, err := openapi.Serve(s.main.Handler.NonGoRestfulMux, notFound(c.generic), definitions.Lister(), described...)
	if err != nil {
		return err
	}
	// apiextensions publishes its schemas in the one service, once it has both.
	crds.OpenAPIV3VersionedService = v3
	crds.StaticOpenAPISpec = &spec.Swagger{}

	groups := discovery.NewGroups(definitions, c.groupList, discovery.BuiltIn(builtin.Table(), s.groups), c.customResources.Observe)
	if err := s.buildAggregator(groups, v3); err != nil {
		return err
	}
	return groups.Start(c.discovery.ResourceManager)
}

// Ready is closed when every request is served as it will be from then on.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Run serves until ctx ends, or the embedded etcd fails, and returns when everything that the server and its
// Config started is stopped and released.
func (s *Server) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.config.Close(ctx)) }()
	// Ctx must not end what the library starts: a hook that fails ends the process, a hook
	// whose context has ended fails, and controllers that no hook has run stay. So it gets
	// ready first, unless it depends on an etcd that may never answer, or is stuck.
	starting := ctx
	if s.config.member != nil {
		var abandon context.CancelFunc
		starting, abandon = graceful(ctx, startGrace)
		defer abandon()
	}
	prepared := s.main.PrepareRun()
	s.config.loopback.serve(s.main.Handler)
	if err = s.config.seeding.Wait(); err == nil {
		err = s.syncInformers(starting)
	}
	if err != nil {
		s.main.Destroy()
		return err
	}
	defer s.background.Wait()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- prepared.RunWithContext(serving) }()
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-s.config.generic.DrainedNotify():
		case <-finished:
		}
		s.config.end()
		s.config.listener.closeConnections()
	}()
	err = s.becomeReady(starting, serving)
	switch {
	case err == nil:
		close(s.ready)
	case ctx.Err() != nil: // it is asked to stop, and why it isn't ready is nobody's business any more
	default:
		s.config.end()
		stop()
		return errors.Join(err, <-stopped)
	}
	select {
	case <-ctx.Done():
	case <-s.config.etcdFailed(): // why is known when etcd is stopped
	case err := <-stopped:
		return err
	}
	if s.config.peers != nil {
		s.config.peers.Leave()
	}
	s.config.unfollow()
	if s.config.member != nil {
		s.config.member.Hurry()
	}
	s.config.listener.stop()
	stop()
	return <-stopped
}

// Address is where the server listens, as HOST:PORT.
func (s *Server) Address() string { return s.config.generic.SecureServing.Listener.Addr().String() }

// url is how local clients reach the server, whatever it is bound to.
func (s *Server) url() string {
	address := s.config.generic.SecureServing.Listener.Addr().(*net.TCPAddr)
	host := address.IP.String()
	if address.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "https://" + net.JoinHostPort(host, strconv.Itoa(address.Port))
}

// AdminConfig is a client configuration for the superuser.
func (s *Server) AdminConfig() *rest.Config {
	return &rest.Config{
		Host: s.url(),
		TLSClientConfig: rest.TLSClientConfig{
			CAData: s.config.servingCA(), CertData: s.admin.Cert, KeyData: s.admin.Key,
		},
	}
}

// UserConfig is a client configuration for a user with a certificate.
func (s *Server) UserConfig(name string, groups ...string) (*rest.Config, error) {
	pair, err := s.config.authority.Client(name, groups...)
	if err != nil {
		return nil, err
	}
	config := s.AdminConfig()
	config.CertData, config.KeyData = pair.Cert, pair.Key
	return config, nil
}

// Kubeconfig is AdminConfig as a kubeconfig whose one context is "miniapi".
func (s *Server) Kubeconfig() *clientcmdapi.Config {
	const name = "miniapi"
	admin := s.AdminConfig()
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: admin.CertData, ClientKeyData: admin.KeyData}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name
	return config
}
