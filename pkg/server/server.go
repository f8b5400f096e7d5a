package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilwebhook "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/admission/services"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
	"github.com/miniapi-dev/miniapi/pkg/server/capture"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/direct"
	"github.com/miniapi-dev/miniapi/pkg/server/health"
	"github.com/miniapi-dev/miniapi/pkg/server/hookcalls"
	"github.com/miniapi-dev/miniapi/pkg/server/kept"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
	"github.com/miniapi-dev/miniapi/pkg/server/registration"
	"github.com/miniapi-dev/miniapi/pkg/server/snapshot"
	"github.com/miniapi-dev/miniapi/pkg/server/version"
)

// Snapshot is a copy of all stored objects at one moment.
type Snapshot = snapshot.Snapshot

var errNoSnapshots = errors.New("a snapshot needs an embedded etcd: start the server without --etcd-servers")

// Version returns the version that /version and "miniapi version" show: see version.Get.
func Version() apimachineryversion.Info { return version.Get() }

// Server is the server that Config.New has built. Run can be called once.
type Server struct {
	config *Config
	main   *genericapiserver.GenericAPIServer
	// writer writes objects of built-in kinds to their storages without admission.
	writer       *direct.Writer
	controllers  controlled
	registration *registration.Registration // nil without --register
	runtimeHooks *hookcalls.Hooks           // nil without --runtime-hooks
	// seeding stores the objects that the server has from its start, while the rest of the server is built.
	seeding *seeding
	admin   pki.KeyPair
	ready   chan struct{}
	// snapshots takes and restores snapshots. It is nil with an external etcd.
	snapshots *snapshot.Snapshots
	// background is the work of a start that continues after the server is ready.
	background sync.WaitGroup
}

// New builds the server. If it fails, New closes the Config.
func (c *Config) New(ctx context.Context) (_ *Server, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close(ctx))
		}
	}()
	admin, err := c.keys.authority.Client("system:admin", "system:masters")
	if err != nil {
		return nil, fmt.Errorf("creating the admin's certificate: %w", err)
	}
	if err := buildCustomResources(c); err != nil {
		return nil, fmt.Errorf("serving custom resources: %w", err)
	}
	// The main server passes requests for custom resources on to the server that buildCustomResources has built.
	main, err := c.generic.Complete(c.cluster.informers).New("miniapi", c.served.customResources.Server())
	if err != nil {
		return nil, err
	}
	deps, err := dependencies(c)
	if err != nil {
		return nil, err
	}
	built, err := c.options.Table.Build(c.generic.MergedResourceConfig, deps)
	if err != nil {
		return nil, err
	}
	writer := direct.New(c.options.Table, shared.schemas(c.options.Table).TypeConverter(), built)
	if tokens := c.webhooks.tokens; tokens != nil {
		tokens.Create = func(ctx context.Context, account runtime.Object) (runtime.Object, error) {
			return writer.Create(ctx, account)
		}
	}
	seeding := beginSeeding(c, writer)
	installOpenID(c, main)
	installed, err := installGroups(c, main, built)
	if err != nil {
		return nil, err
	}
	controllers, err := newControllers(c)
	if err != nil {
		return nil, err
	}
	resourcesChanged := func() {
		c.clients.resourcesChanged()
		controllers.resourcesChanged()
	}
	if err := buildDiscovery(c, main, installed, built, writer, resourcesChanged); err != nil {
		return nil, err
	}
	if err := health.AddHooks(main, c.generic.FeatureGate, c.cluster.informers.WaitForSync); err != nil {
		return nil, err
	}
	installOwnPaths(c, main)
	hooks, err := newRuntimeHooks(c, main)
	if err != nil {
		return nil, err
	}
	registered, err := newRegistration(c, built)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: c, registration: registered, main: main, writer: writer, controllers: controllers, runtimeHooks: hooks, seeding: seeding, admin: admin, ready: make(chan struct{}),
	}
	if c.etcd.Embedded() {
		s.snapshots = &snapshot.Snapshots{
			Table:           c.options.Table,
			Keys:            c.etcd.Member().Keys(),
			CustomResources: c.served.customResources,
			Barrier:         c.clients.informers.Barrier(),
			Hold:            s.hold,
			Root:            c.etcd.Root(),
		}
	}
	return s, nil
}

// hold interrupts the controllers, and the aggregator's checks of other servers, until release is called.
func (s *Server) hold() (release func()) {
	releaseOthers := s.config.served.hold()
	releaseControllers := s.controllers.hold(s.config.following)
	return func() {
		defer releaseOthers()
		releaseControllers()
	}
}

// AdminConfig returns a client configuration for a user who may do everything.
func (s *Server) AdminConfig() *rest.Config {
	return &rest.Config{
		Host: s.config.endpoint.localURL(),
		TLSClientConfig: rest.TLSClientConfig{
			CAData: s.config.keys.servingCA(s.config.generic.SecureServing), CertData: s.admin.Cert, KeyData: s.admin.Key,
		},
	}
}

// OwnConfig returns a client configuration for the server's own program, which may do everything. The requests stay in the
// process. Behind a cluster, the server knows no admin of its own, so AdminConfig has no use.
func (s *Server) OwnConfig() *rest.Config {
	config := rest.CopyConfig(s.config.generic.LoopbackClientConfig)
	config.ContentConfig = rest.ContentConfig{}
	return config
}

// UserConfig issues a client certificate for the user and the groups, and returns a client configuration with it.
func (s *Server) UserConfig(name string, groups ...string) (*rest.Config, error) {
	pair, err := s.config.keys.authority.Client(name, groups...)
	if err != nil {
		return nil, err
	}
	config := s.AdminConfig()
	config.CertData, config.KeyData = pair.Cert, pair.Key
	return config, nil
}

// Ready returns a channel that is closed when the server can serve every request.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Run serves until ctx ends, or until the embedded etcd fails. It returns when all parts of the server and its Config
// have stopped.
func (s *Server) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.config.Close(ctx)) }()
	// A start hook of k8s.io/apiserver fails if its context has ended, and a failed hook ends the process. So with an
	// embedded etcd, a server whose ctx ends during the start gets ready first, within startGrace after the end of
	// ctx. An external etcd may never answer, so with such an etcd, the end of ctx interrupts the start.
	starting := ctx
	if s.config.etcd.Embedded() {
		var abandon context.CancelFunc
		starting, abandon = graceful(ctx, startGrace)
		defer abandon()
	}
	prepared := s.main.PrepareRun()
	s.config.clients.loopback.Serve(s.main.Handler)
	if err = s.seeding.Wait(); err == nil {
		err = syncInformers(starting, s.config)
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
		s.config.endpoint.CloseConnections()
	}()
	err = s.becomeReady(starting, serving)
	switch {
	case err == nil:
		close(s.ready)
	case ctx.Err() != nil: // the caller wants a stop, so the error of the start doesn't matter
	default:
		s.config.end()
		stop()
		return errors.Join(err, <-stopped)
	}
	select {
	case <-ctx.Done():
	case <-s.config.etcd.Failed(): // Close returns the reason
	case err := <-stopped:
		return err
	}
	if s.config.endpoints != nil {
		s.config.endpoints.Leave(s.config.life)
	}
	if s.config.served.peers != nil {
		s.config.served.peers.Leave()
	}
	if s.registration != nil {
		s.registration.Stop(s.config.life)
	}
	s.controllers.leave(s.config.life)
	s.config.unfollow()
	if s.config.etcd.Embedded() {
		s.config.etcd.Member().Hurry()
	}
	s.config.endpoint.Stop()
	stop()
	return <-stopped
}

// Installed returns the CustomResourceDefinitions of Options.Definitions that the server has stored. It must be called
// when the server is ready.
func (s *Server) Installed() []customresources.Installed { return s.seeding.installed }

// Kept returns the Keeper of Options.Kept, or nil if the server can't keep objects. It must be called when the server
// is ready.
func (s *Server) Kept() *kept.Keeper { return s.seeding.kept }

// Address returns the address that the server listens on, as HOST:PORT.
func (s *Server) Address() string { return s.config.endpoint.Addr().String() }

// WebhookClient returns a client that connects to a webhook as the server does: see services.NewClient.
func (s *Server) WebhookClient(webhook utilwebhook.ClientConfig) (*rest.RESTClient, error) {
	return services.NewClient(webhook, s.config.webhooks.services, s.config.webhooks.authentication)
}

// Snapshot takes a snapshot of all stored objects, for Restore. It needs an embedded etcd.
func (s *Server) Snapshot(ctx context.Context) (*Snapshot, error) {
	if s.snapshots == nil {
		return nil, errNoSnapshots
	}
	return s.snapshots.Take(ctx)
}

// Load stores objects that were captured from a cluster as they are: see capture.Loader. It needs an embedded etcd.
func (s *Server) Load(ctx context.Context, objects []manifests.Object) error {
	if s.snapshots == nil {
		return errNoSnapshots
	}
	loader := capture.Loader{
		Member: s.config.etcd.Member(), Snapshots: s.snapshots, Mapper: s.config.clients.mapper, Client: s.config.clients.dynamic,
		Apply: manifests.Applier{Config: s.OwnConfig()}.Apply,
	}
	return loader.Load(ctx, objects)
}

// Recorded returns the requests that a filter selects of those that Options.AdmissionTrace keeps.
func (s *Server) Recorded(filter recorder.Filter) []*trace.Request {
	return s.config.trace.Recorder.Requests(filter)
}

// Restore brings back the objects of the snapshot: see snapshot.Snapshots. It also drops the recorded requests, which are
// about other objects.
func (s *Server) Restore(ctx context.Context, snapshot *Snapshot) error {
	if s.snapshots == nil {
		return errNoSnapshots
	}
	err := s.snapshots.Restore(ctx, snapshot)
	s.config.trace.Recorder.Forget()
	return err
}
