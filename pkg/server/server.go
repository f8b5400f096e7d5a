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
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/direct"
	"github.com/miniapi-dev/miniapi/pkg/server/health"
	"github.com/miniapi-dev/miniapi/pkg/server/kept"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
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
	writer *direct.Writer
	admin  pki.KeyPair
	ready  chan struct{}
	// seeded is true if the objects that every cluster has, such as RBAC roles, were stored while the server was built. It
	// is valid only after the end of lifetime.seeding.
	seeded bool
	// installed are the CustomResourceDefinitions of Options.Definitions that were stored while the server was built.
	installed []customresources.Installed
	// kept keeps the objects that clients apply, for later servers. It is nil if the server can't keep objects.
	kept *kept.Keeper
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
	s := &Server{config: c, ready: make(chan struct{})}
	if s.admin, err = c.security.authority.Client("system:admin", "system:masters"); err != nil {
		return nil, fmt.Errorf("creating the admin's certificate: %w", err)
	}
	if err := buildCustomResources(c); err != nil {
		return nil, fmt.Errorf("serving custom resources: %w", err)
	}
	if err := s.build(); err != nil {
		return nil, err
	}
	return s, nil
}

// build builds the main server. The main server passes requests for custom resources on to the server that
// buildCustomResources has built.
func (s *Server) build() (err error) {
	c := s.config
	if s.main, err = c.generic.Complete(c.clients.informers).New("miniapi", c.apis.customResources.Server()); err != nil {
		return err
	}
	deps, err := dependencies(c)
	if err != nil {
		return err
	}
	groups, err := builtin.Table().Build(c.generic.MergedResourceConfig, deps)
	if err != nil {
		return err
	}
	s.writer = direct.New(builtin.Table(), shared.schemas().TypeConverter(), groups)
	if tokens := c.security.webhookTokens; tokens != nil {
		tokens.Create = func(ctx context.Context, account runtime.Object) (runtime.Object, error) {
			return s.writer.Create(ctx, account)
		}
	}
	c.seeding.Go(func() error {
		if err := s.seed(c.life); err != nil {
			return fmt.Errorf("storing the objects that the server has from its start: %w", err)
		}
		return nil
	})
	installOpenID(c, s.main)
	installed, err := installGroups(c, s.main, groups)
	if err != nil {
		return err
	}
	if err := buildDiscovery(c, s.main, installed, groups, s.writer); err != nil {
		return err
	}
	if err := health.AddHooks(s.main, c.generic.FeatureGate, c.clients.informers.WaitForSync); err != nil {
		return err
	}
	installOwnPaths(c, s.main)
	if err := buildRuntimeHooks(c, s.main); err != nil {
		return err
	}
	if err := buildControllers(c); err != nil {
		return err
	}
	if c.etcd.Embedded() {
		s.snapshots = &snapshot.Snapshots{
			Table:           builtin.Table(),
			Keys:            c.etcd.Member().Keys(),
			CustomResources: c.apis.customResources,
			Barrier:         c.clients.informers.Barrier(),
			Hold:            c.hold,
			Root:            c.etcd.Root(),
		}
	}
	return nil
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
	if err = s.config.seeding.Wait(); err == nil {
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
		s.config.listener.CloseConnections()
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
	if s.config.apis.peers != nil {
		s.config.apis.peers.Leave()
	}
	leaveControllers(s.config)
	s.config.unfollow()
	if s.config.etcd.Embedded() {
		s.config.etcd.Member().Hurry()
	}
	s.config.listener.Stop()
	stop()
	return <-stopped
}

// Installed returns the CustomResourceDefinitions of Options.Definitions that the server has stored. It must be called
// when the server is ready.
func (s *Server) Installed() []customresources.Installed { return s.installed }

// Kept returns the Keeper of Options.Kept, or nil if the server can't keep objects. It must be called when the server
// is ready.
func (s *Server) Kept() *kept.Keeper { return s.kept }

// Address returns the address that the server listens on, as HOST:PORT.
func (s *Server) Address() string { return s.config.generic.SecureServing.Listener.Addr().String() }

// WebhookClient returns a client that connects to a webhook as the server does: see services.NewClient.
func (s *Server) WebhookClient(webhook utilwebhook.ClientConfig) (*rest.RESTClient, error) {
	return services.NewClient(webhook, s.config.security.services, s.config.security.webhookAuth)
}

// Snapshot takes a snapshot of all stored objects, for Restore. It needs an embedded etcd.
func (s *Server) Snapshot(ctx context.Context) (*Snapshot, error) {
	if s.snapshots == nil {
		return nil, errNoSnapshots
	}
	return s.snapshots.Take(ctx)
}

// Restore brings back the objects of the snapshot: see snapshot.Snapshots.
func (s *Server) Restore(ctx context.Context, snapshot *Snapshot) error {
	if s.snapshots == nil {
		return errNoSnapshots
	}
	return s.snapshots.Restore(ctx, snapshot)
}
