package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericfilters "k8s.io/apiserver/pkg/server/filters"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
	"github.com/miniapi-dev/miniapi/pkg/server/flowcontrol"
	"github.com/miniapi-dev/miniapi/pkg/server/health"
	"github.com/miniapi-dev/miniapi/pkg/server/listener"
	"github.com/miniapi-dev/miniapi/pkg/server/outgoing"
	"github.com/miniapi-dev/miniapi/pkg/server/reload"
	"github.com/miniapi-dev/miniapi/pkg/server/runtimehooks"
	"github.com/miniapi-dev/miniapi/pkg/server/storedmetadata"
	"github.com/miniapi-dev/miniapi/pkg/server/version"
)

// watchGracePeriod is the default of --shutdown-watch-termination-grace-period: the time that watches have to end when
// the server stops.
const watchGracePeriod = 500 * time.Millisecond

// Config has the parts from which New builds a server: a running etcd, the open port, authentication, authorization,
// admission and storage. The resources, the handlers and the controllers don't exist yet. A caller that doesn't call New
// must call Close. New calls Close if it fails, and Server.Run calls Close at its end.
type Config struct {
	options CompletedOptions
	generic *genericapiserver.Config
	lifetime
	clients  clients
	security security
	apis     served
	// trace records the decisions of admission about requests.
	trace *admissiontrace.Trace

	faults   *faults.Injector
	listener *listener.Listener
	etcd     *etcd.Etcd
	// connections are the connections to webhooks, to the servers of APIServices and to peers.
	connections *outgoing.Connections
	// bootstrapped is the health check that tells whether etcd has the objects that every cluster has, such as the
	// system namespaces.
	bootstrapped health.Bootstrapped
	flowSchemas  *flowcontrol.Conditions // nil if the server has no FlowSchemas
	runtimeHooks *runtimehooks.Hooks     // nil without --runtime-hooks
	// stored reports all stored objects to the controllers. It is nil if the controllers use informers: with an
	// external etcd, with encryption, or with --etcd-servers-overrides.
	stored *storedmetadata.Source
}

// lifetime has the contexts of a server, the functions that end them, and the work that a stop waits for.
type lifetime struct {
	// life ends after the last request of the server, or when the start fails.
	life context.Context
	end  context.CancelFunc
	// following is the context of informers. It ends when a stop begins.
	following context.Context
	unfollow  context.CancelFunc
	// leave ends the server's use of the feature gates and versions of the process (see featuregates.Globals.Enter). It is
	// nil before the use begins.
	leave func() error
	// seeding runs Server.seed while the rest of the server is built.
	seeding errgroup.Group
	// reloads are the goroutines that follow configuration files.
	reloads sync.WaitGroup
}

// follow applies a configuration file again whenever it changes, until a stop begins. A nil file is allowed.
func (l *lifetime) follow(file *reload.File) {
	if file != nil {
		l.reloads.Go(func() { file.Follow(l.following) })
	}
}

// Config starts the dependencies of a server: etcd, unless it is external, and the listener. After an error, Config
// stops them again.
func (o CompletedOptions) Config(ctx context.Context) (_ *Config, err error) {
	c := &Config{options: o, connections: outgoing.New(context.WithoutCancel(ctx)), bootstrapped: health.NewBootstrapped()}
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	c.following, c.unfollow = context.WithCancel(c.life)
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close(ctx))
		}
	}()
	if c.leave, err = o.globals.Enter(); err != nil {
		return nil, err
	}
	c.generic = genericapiserver.NewConfig(builtin.Table().Codecs())
	c.generic.Serializer = builtin.Table().Serializer()
	health.ReplaceLog(c.generic)
	c.apis = newServed(c)
	steps := []func(context.Context, *Config) error{
		applyServerRun, listen, startEtcd,
		// Only the last of these steps, buildStorage, waits for the embedded etcd, which elects its leader in the
		// meantime.
		secure, buildClients, buildFaults, buildAuthentication, buildAuthorization, buildAdmission, buildTrace, buildAudit,
		buildStorage,
	}
	for _, step := range steps {
		if err := step(ctx, c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Close stops everything that Config started.
func (c *Config) Close(ctx context.Context) error {
	c.end()
	var errs []error
	if c.listener != nil {
		if err := c.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	c.connections.Close()
	c.apis.closeOthers()
	closeControllers(c)
	// Shutdown waits for the informers, whose contexts have ended.
	if c.clients.informers != nil {
		c.clients.informers.Shutdown()
	}
	if c.apis.customResources != nil && c.apis.customResources.Informers() != nil {
		c.apis.customResources.Informers().Shutdown()
	}
	c.reloads.Wait()
	if c.flowSchemas != nil {
		c.flowSchemas.Wait()
	}
	if c.runtimeHooks != nil {
		c.runtimeHooks.Wait()
	}
	_ = c.seeding.Wait() // Run returns this error; after an error of New, this error doesn't matter
	if c.apis.customResources != nil {
		errs = append(errs, c.apis.customResources.Wait())
	}
	if c.etcd != nil {
		errs = append(errs, c.etcd.Close(ctx))
	}
	if c.leave != nil {
		errs = append(errs, c.leave())
	}
	return utilerrors.NewAggregate(errs)
}

// applyServerRun applies the general options. It also turns off the parts of k8s.io/apiserver that miniapi replaces:
// discovery, OpenAPI, and the list of paths at /.
func applyServerRun(_ context.Context, c *Config) error {
	o := c.options
	if err := o.ServerRun.ApplyTo(c.generic); err != nil {
		return err
	}
	if err := o.Features.ApplyTo(c.generic, nil, nil); err != nil {
		return err
	}
	if err := o.Tracing.ApplyTo(nil, c.generic); err != nil {
		return fmt.Errorf("--tracing-config-file %s: %w", o.Tracing.ConfigFile, err)
	}
	c.generic.EffectiveVersion = version.Effective{EffectiveVersion: c.generic.EffectiveVersion}
	c.generic.MergedResourceConfig = o.apis
	c.generic.Flagz = o.Flagz
	if c.generic.ShutdownWatchTerminationGracePeriod == 0 {
		c.generic.ShutdownWatchTerminationGracePeriod = watchGracePeriod
	}
	c.bootstrapped.AddTo(c.generic, o.apis.ResourceEnabled)
	// The main server and the server of custom resources share one manager.
	c.generic.AggregatedDiscoveryGroupManager = c.apis.discovery
	longRunning := genericfilters.BasicLongRunningRequestCheck(
		sets.NewString("watch", "proxy"), sets.NewString("attach", "exec", "proxy", "log", "portforward"))
	c.generic.LongRunningFunc = func(req *http.Request, info *request.RequestInfo) bool {
		return admissiontrace.IsFollowing(req) || longRunning(req, info)
	}
	if c.generic.FlowControl == nil {
		// k8s.io/apiserver would count stored objects for API priority and fairness, which is off.
		c.generic.DisabledPostStartHooks.Insert("storage-object-count-tracker-hook")
	}
	c.generic.BuildHandlerChainFunc = handlerChain(c)
	c.generic.EnableIndex = false     // package discovery installs it
	c.generic.EnableDiscovery = false // package discovery installs it too
	// k8s.io/apiserver must not serve OpenAPI documents: package openapi makes the documents at the first request for
	// them.
	c.generic.SkipOpenAPIInstallation = true
	return nil
}

func listen(_ context.Context, c *Config) error {
	o := c.options
	serving := *o.Serving
	if err := listener.Open(&serving); err != nil {
		return err
	}
	c.listener = listener.New(serving.Listener)
	if err := identify(c); err != nil {
		return err
	}
	if c.generic.PublicAddress == nil || c.generic.PublicAddress.IsUnspecified() {
		c.generic.PublicAddress = listener.PublicAddress(serving.BindAddress)
	}
	return nil
}

func startEtcd(ctx context.Context, c *Config) (err error) {
	c.etcd, err = etcd.New(ctx, etcd.Config{
		Options:   c.options.Etcd,
		DataDir:   c.options.DataDir,
		Holder:    c.listener.Addr().String(),
		Following: c.following,
		Life:      c.life,
	})
	return err
}

func buildStorage(_ context.Context, c *Config) error {
	factory, err := c.etcd.ApplyTo(c.generic, builtin.Table(), c.options.etcdLocations)
	if err != nil {
		return err
	}
	return buildPeers(c, factory)
}
