package server

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/controllers/persistentvolume"
	"github.com/miniapi-dev/miniapi/pkg/ondemand"
	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/direct"
	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
	"github.com/miniapi-dev/miniapi/pkg/server/health"
	"github.com/miniapi-dev/miniapi/pkg/server/kept"
	"github.com/miniapi-dev/miniapi/pkg/server/seed"
)

const (
	// startTimeout limits the time of each of two steps of a start. In the first step, the informers list the stored
	// objects. In the second step, the server becomes ready.
	startTimeout = time.Minute

	// ensureTimeout limits the time for which a start waits until the objects that every cluster has, such as RBAC roles,
	// are created. The creation may call webhooks. The time is part of startTimeout.
	ensureTimeout = startTimeout / 2

	// startGrace is the time for which a start may continue after its context has ended. A start takes less time,
	// unless it hangs.
	startGrace = 10 * time.Second
)

// graceful returns a context for work that must not be interrupted. After ctx has ended, the new context continues for
// the time grace.
func graceful(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		// A timer that runs keeps the whole server in memory.
		context.AfterFunc(later, func() { timer.Stop() })
	})
	return later, func() {
		stop()
		cancel()
	}
}

// seeding is the storing of the objects that a server has from its start. The results are valid after Wait.
type seeding struct {
	errgroup.Group
	// complete is true if the objects that every cluster has, such as RBAC roles, are stored.
	complete bool
	// installed are the CustomResourceDefinitions of Options.Definitions that are stored.
	installed []customresources.Installed
	// kept keeps the objects that clients apply, for later servers. It is nil if the server can't keep objects.
	kept *kept.Keeper
}

// beginSeeding begins to store the objects that the server has from its start.
func beginSeeding(c *Config, writer *direct.Writer) *seeding {
	s := &seeding{}
	s.Go(func() error {
		if err := s.store(c.life, c, writer); err != nil {
			return fmt.Errorf("storing the objects that the server has from its start: %w", err)
		}
		return nil
	})
	c.waitFor(func() { _ = s.Wait() }) // Server.Run returns the error; after an error of New, this error doesn't matter
	return s
}

// store stores the objects that every cluster has, except for the Service "kubernetes", in an empty embedded etcd. If
// the etcd is external or has objects, or if a configuration of admission could refuse the objects, store stores
// nothing, and the start creates the objects by requests. store also stores the definitions of the options, and copies
// of objects that an earlier server has kept, unless they need requests.
func (s *seeding) store(ctx context.Context, c *Config, writer *direct.Writer) (err error) {
	if !c.etcd.Embedded() || !c.options.isCluster() || c.options.Admission.ConfigFile != "" {
		return nil
	}
	seeder := seed.Seeder{Writer: writer, Member: c.etcd.Member(), Copies: shared.copies,
		Settings: c.options.globals.Key() + " " + c.options.Etcd.DefaultStorageMediaType, Unreadable: c.options.ofEncryption}
	if s.complete, err = seeder.Seed(ctx, clusterConfig(c)); err != nil || !s.complete || !canInstall(c) {
		return err
	}
	s.installed, err = c.served.customResources.Install(ctx, customresources.Installation{
		Definitions: c.options.Definitions.JSON, Prepared: shared.definitions, Settings: c.options.globals.Key(),
		FieldManager: c.options.Definitions.FieldManager,
	})
	if err != nil || !canKeep(c) || len(s.installed) < len(c.options.Definitions.JSON) {
		return err
	}
	s.kept = &kept.Keeper{
		Sets: shared.kept, Name: c.options.globals.Key() + " " + c.options.Kept,
		Keys: c.etcd.Member().Keys(), Root: c.etcd.Root(), Scheme: c.options.Table.Scheme(), Written: c.written,
	}
	return s.kept.Store(ctx)
}

// canKeep reports whether the server may store copies of an earlier server's objects directly, without requests. It
// returns false if no name is given, if each object needs a request, if controllers work on the objects, or if stored
// objects are encrypted.
func canKeep(c *Config) bool {
	return c.options.Kept != "" && !c.seesItself() && !c.options.runsControllers() && c.options.Etcd.EncryptionProviderConfigFilepath == ""
}

// canInstall reports whether the server may store objects directly, without requests. It returns false if each object
// needs a request: for audit, for a log of requests, or for the plugin AlwaysDeny.
func canInstall(c *Config) bool {
	return c.generic.AuditBackend == nil && c.options.LogRequest == nil && !c.options.Admission.Runs("AlwaysDeny")
}

// syncInformers starts the server's informers, and returns when each of them has listed the stored objects.
func syncInformers(starting context.Context, c *Config) error {
	ctx, cancel := context.WithTimeout(starting, startTimeout)
	defer cancel()
	c.cluster.informers.StartWithContext(c.following)
	c.served.customResources.Informers().StartWithContext(c.following)
	if aggregator := c.served.aggregator.Load(); aggregator != nil {
		aggregator.Start()
	}
	if err := c.cluster.informers.WaitForSync(ctx); err != nil {
		if c.options.Behind.Enabled() {
			return fmt.Errorf("--behind %s: waiting for informers of the cluster: %w", c.options.Behind.Kubeconfig, err)
		}
		return fmt.Errorf("waiting for informers: %w", c.orWhyUnlisted(starting, err))
	}
	for informer, synced := range c.served.customResources.Informers().WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("waiting for the informer of %s: %w", informer, c.orWhyUnlisted(starting, context.Cause(ctx)))
		}
	}
	return nil
}

// orWhyUnlisted adds a reason to the error of an informer that hasn't listed its objects, such as the key of an object in
// etcd that can't be decoded.
func (c *Config) orWhyUnlisted(starting context.Context, err error) error {
	followed := []schema.GroupVersionResource{customresources.Definitions, aggregation.Resource}
	for _, resource := range c.clients.informers.Resources() {
		if versions := c.options.Table.Scheme().PrioritizedVersionsForGroup(resource.Group); len(versions) > 0 {
			followed = append(followed, versions[0].WithResource(resource.Resource))
		}
	}
	followed = slices.DeleteFunc(followed, func(gvr schema.GroupVersionResource) bool { return !c.options.enabled.ResourceEnabled(gvr) })
	return orWhyUnlisted(starting, c.clients.dynamic, followed, err)
}

// orWhyUnlisted sends list requests to find the reason. When the context "starting" ends, it stops waiting for the
// answers and adds no reason.
func orWhyUnlisted(starting context.Context, client dynamic.Interface, followed []schema.GroupVersionResource, err error) error {
	ctx, cancel := context.WithTimeout(starting, ensureTimeout)
	defer cancel()
	all := metav1.ListOptions{Limit: math.MaxInt32} // a list without a limit waits for the watch cache
	for _, resource := range followed {
		if _, reason := client.Resource(resource).List(ctx, all); reason != nil && starting.Err() == nil {
			return fmt.Errorf("%w: the server can't list %s: %w", err, resource.GroupResource(), reason)
		}
	}
	return err
}

// becomeReady creates the objects that every cluster has (namespaces, RBAC roles and so on), and waits until /readyz is
// healthy. If admission refuses an object or doesn't decide in time, a goroutine tries again until the context
// "serving" ends. So a broken webhook can't prevent the start, and a client can delete the webhook's configuration.
// When the context "starting" ends, becomeReady gives up as soon as k8s.io/apiserver has started all its parts.
func (s *Server) becomeReady(starting, serving context.Context) error {
	ctx, giveUp := context.WithTimeout(serving, startTimeout)
	defer giveUp()
	client := health.Client{REST: s.config.clients.typed.Discovery().RESTClient(), OfEncryption: s.config.options.ofEncryption}
	defer context.AfterFunc(starting, func() {
		_ = client.Await(ctx, health.Started())
		giveUp()
	})()
	ensuring, cancel := context.WithTimeout(ctx, ensureTimeout)
	defer cancel()
	if err := ensureObjects(ensuring, s); bootstrap.IsRefusal(err) || err != nil && ensuring.Err() != nil && ctx.Err() == nil {
		klog.ErrorS(err, "some objects that every cluster has are missing, and the server tries again to create them")
		s.background.Go(func() { ensureObjectsLater(serving, s.config) })
	} else if err != nil {
		return fmt.Errorf("creating the objects that every cluster has, such as RBAC roles: %w", err)
	}
	if s.config.endpoints != nil {
		s.config.endpoints.Start(s.config.following)
	}
	s.config.bootstrapped.Created()
	if s.config.served.peers != nil {
		if err := s.config.served.peers.Start(ctx, s.config.following); err != nil {
			return err
		}
	}
	if err := client.Await(ctx, "/readyz"); err != nil {
		return s.config.orWhyUnlisted(starting, err)
	}
	if err := s.controllers.start(ctx, s.config.etcd.Embedded()); err != nil {
		return err
	}
	if captured := s.config.options.captured; len(captured) > 0 {
		s.config.options.captured = nil
		if err := s.Load(ctx, captured); err != nil {
			return fmt.Errorf("--load: %w", err)
		}
	}
	if s.registration != nil {
		if err := s.registration.Start(ctx, s.config.following); err != nil {
			return err
		}
	}
	if s.runtimeHooks != nil {
		// The discovery of extensions continues until a stop of the server begins.
		if err := s.runtimeHooks.Start(ctx, s.config.following); err != nil {
			return err
		}
	}
	if kept := s.seeding.kept; kept != nil {
		if err := kept.Begin(ctx); err != nil {
			return err
		}
	}
	file, err := s.config.faults.Begin(ctx, s.config.options.Faults)
	if err != nil {
		return err
	}
	s.config.follow(file)
	return nil
}

// maintenance has the pauses between failed attempts to create objects again. They become longer, because admission may
// refuse the objects.
var maintenance = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Cap: 30 * time.Second, Steps: 12}

// maintain keeps the objects of bootstrap.Maintain: it looks at them when the files with authorities change, and in the
// function that it returns, which replaces Config.written for the storages of kinds.
func maintain(c *Config) func(schema.GroupResource, runtime.Object) {
	if !c.options.isCluster() {
		return c.written
	}
	worker := ondemand.New(c.following, func(ctx context.Context) {
		select {
		case <-c.bootstrapped.Done():
		case <-ctx.Done():
		}
		_ = maintenance.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
			err := bootstrap.Maintain(ctx, c.clients.typed, clusterConfig(c))
			if err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "some objects that every cluster has are missing or changed, and the server tries again to restore them")
			}
			return err == nil, nil
		})
	}, nil)
	c.waitFor(worker.Wait)
	config := clusterConfig(c)
	if config.ClientCA != nil {
		config.ClientCA.AddListener(contentListener(worker.Notify))
	}
	if config.RequestHeader != nil {
		config.RequestHeader.CAContentProvider.AddListener(contentListener(worker.Notify))
	}
	return func(resource schema.GroupResource, obj runtime.Object) {
		c.written(resource, obj)
		select {
		case <-c.bootstrapped.Done():
			if object, err := meta.Accessor(obj); err == nil && bootstrap.IsMaintained(resource, object) {
				worker.Notify()
			}
		default: // the start creates the objects
		}
	}
}

// contentListener is a dynamiccertificates.Listener that calls a function.
type contentListener func()

// Enqueue implements dynamiccertificates.Listener.
func (l contentListener) Enqueue() { l() }

// ensureObjects creates the objects that every cluster has and that seed has not stored.
func ensureObjects(ctx context.Context, s *Server) error {
	if !s.config.options.isCluster() {
		return nil
	}
	if !s.seeding.complete {
		return bootstrap.Ensure(ctx, s.config.clients.typed, clusterConfig(s.config))
	}
	service := bootstrap.Service(clusterConfig(s.config))
	if service == nil {
		return nil
	}
	_, err := s.writer.Create(ctx, service)
	return err
}

// ensureObjectsLater tries once a second to create the objects that every cluster has, such as RBAC roles. It returns
// when all objects exist, or when ctx ends.
func ensureObjectsLater(ctx context.Context, c *Config) {
	_ = wait.PollUntilContextCancel(ctx, time.Second, false, func(ctx context.Context) (bool, error) {
		return bootstrap.Ensure(ctx, c.clients.typed, clusterConfig(c)) == nil, nil
	})
}

// ofEncryption adds "--encryption-provider-config" to an error, if the flag was set.
func (o CompletedOptions) ofEncryption(err error) error {
	return etcd.OfEncryption(o.Etcd.EncryptionProviderConfigFilepath, err)
}

// clusterConfig returns the settings on which the objects that every cluster has, such as the Service "kubernetes",
// depend.
func clusterConfig(c *Config) bootstrap.Config {
	config := bootstrap.Config{
		SecurePort:    int32(c.endpoint.port()),
		ClientCA:      c.authentication.ClientCA(),
		RequestHeader: c.authentication.RequestHeader,
		Served:        c.options.enabled.ResourceEnabled,
		Aggregated:    c.options.Controllers.Has("clusterrole-aggregation-controller"),
	}
	if c.options.Controllers.Has("persistentvolume-binder-controller") {
		config.StorageClass = persistentvolume.DefaultClass()
	}
	// kube-apiserver makes no authority of front proxies. A command line of kube-apiserver publishes one with its first
	// APIService.
	if proxy := c.keys.frontProxy; proxy != nil && !c.options.TransientKeys {
		config.RequestHeader = proxy.RequestHeader
	}
	for _, ipNet := range c.options.serviceRange {
		// parseServiceRange has parsed the range, so the conversion can't fail.
		ones, _ := ipNet.Mask.Size()
		address, _ := netip.AddrFromSlice(ipNet.IP)
		config.ServiceCIDRs = append(config.ServiceCIDRs, netip.PrefixFrom(address.Unmap(), ones))
	}
	if address, ok := c.endpoint.inEndpoints(c.options); ok && c.endpoints == nil {
		config.Endpoints = []netip.Addr{address}
	}
	return config
}
