package server

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/healthz"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	utilwebhook "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
	"github.com/miniapi-dev/miniapi/pkg/server/authentication"
	"github.com/miniapi-dev/miniapi/pkg/server/authorization"
	"github.com/miniapi-dev/miniapi/pkg/server/authorization/rbac"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/discovery"
	"github.com/miniapi-dev/miniapi/pkg/server/groups"
	"github.com/miniapi-dev/miniapi/pkg/server/peers"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
	"github.com/miniapi-dev/miniapi/pkg/server/reload"
	"github.com/miniapi-dev/miniapi/pkg/server/version"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

const (
	// watchGracePeriod bounds how long a stop waits for watches to end by themselves,
	// which they do as soon as they are asked to.
	watchGracePeriod = 500 * time.Millisecond

	// etcdTimeout bounds how long a start waits for an etcd elsewhere.
	etcdTimeout = 5 * time.Second
)

// Config is a server about to be built: etcd runs, the port is taken, and everything
// that serves requests is there but the resources. Close releases it if no server is
// built from it.
type Config struct {
	options CompletedOptions
	generic *genericapiserver.Config
	// life ends when the server has stopped, after its last request.
	life context.Context
	end  context.CancelFunc
	// following is the part of life in which informers follow what is stored: until a stop begins.
	following context.Context
	unfollow  context.CancelFunc

	// leave says that the server needs the process's globals no longer; nil if it never had them.
	leave func() error
	// member is the embedded etcd, and start waits until it serves; both are nil if etcd is elsewhere.
	member *storage.Member
	start  func() (*storage.Member, error)
	// seeding creates most of what every cluster has, while the rest of the server is built.
	seeding errgroup.Group
	// reloads follow configuration files.
	reloads sync.WaitGroup
	// peers are the other servers of the same external etcd; nil if the server takes no part in them.
	peers *peers.Peers
	// presence tells other servers of the same external etcd of this one; nil if it couldn't.
	presence *storage.Presence

	bootstrapped  chan struct{}
	listener      *listener
	loopback      *loopback
	client        kubernetes.Interface
	dynamicClient dynamic.Interface
	informers     *admission.Informers
	flowSchemas   *flowSchemas // nil if there are none

	authority       *pki.Authority
	signingKey      crypto.Signer // of service account tokens; nil for one that no flag and no folder has
	authentication  *authentication.Applied
	escalation      registry.Escalation
	customResources *customresources.Resources
	discovery       *discovery.Recorder
	groupList       *discovery.List
	groups          atomic.Pointer[groups.Groups]
	aggregator      atomic.Pointer[aggregation.Aggregator] // nil until it is built, or if it isn't wanted
	restMapper      *restmapper.DeferredDiscoveryRESTMapper
	services        utilwebhook.ServiceResolver
	webhookAuth     utilwebhook.AuthenticationInfoResolverWrapper

	webhookConnections *webhookConnections
}

// Config starts what a server depends on: etcd, unless one is elsewhere, and the
// listener. What it has started is stopped again if it fails.
func (o CompletedOptions) Config(ctx context.Context) (_ *Config, err error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	c := &Config{options: o, life: life, end: end, webhookConnections: newWebhookConnections()}
	c.following, c.unfollow = context.WithCancel(life)
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close(ctx))
		}
	}()
	if c.leave, err = process.enter(o.globals.wanted); err != nil {
		return nil, err
	}
	c.customResources = customresources.New(c.following, customresources.Hooks{
		Written: c.written, ResourcesChanged: c.resourcesChanged, DefinitionChanged: func() { c.informers.ResourcesChanged() },
	})
	c.generic = genericapiserver.NewConfig(builtin.Table().Codecs())
	c.generic.Serializer = builtin.Table().Serializer()
	checkLog(c.generic)
	steps := []func(context.Context) error{
		c.applyServerRun, c.listen, c.startEtcd,
		// Meanwhile, etcd elects itself.
		c.secure, c.buildClients, c.buildAuthentication, c.buildAuthorization, c.buildAdmission, c.buildAudit,
		c.buildStorage,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Close stops what Config started.
func (c *Config) Close(ctx context.Context) error {
	c.end()
	var errs []error
	if c.listener != nil {
		if err := c.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	c.webhookConnections.close()
	if c.peers != nil {
		c.peers.Close()
	}
	if aggregator := c.aggregator.Load(); aggregator != nil {
		aggregator.Wait()
	}
	c.reloads.Wait()
	c.flowSchemas.wait()
	_ = c.seeding.Wait() // the end of the server is why it fails
	if c.customResources != nil {
		errs = append(errs, c.customResources.Wait())
	}
	if c.presence != nil {
		c.presence.Wait()
	}
	if c.start != nil {
		if member, err := c.start(); err == nil {
			errs = append(errs, c.options.ofData(member.Stop(context.WithoutCancel(ctx))))
		}
	}
	if c.leave != nil {
		errs = append(errs, c.leave())
	}
	return utilerrors.NewAggregate(errs)
}

// startEtcd starts the embedded etcd, or makes sure that the one elsewhere is there.
func (c *Config) startEtcd(ctx context.Context) error {
	if !c.options.embedded() {
		return c.checkEtcdServers(ctx)
	}
	options := storage.Options{DataDir: c.options.DataDir, Holder: c.listener.Addr().String(), LogTo: etcdLog(ctx), Yield: c.options.Yield}
	start := func(ctx context.Context) (*storage.Member, error) { return storage.Start(ctx, options) }
	if c.options.DataDir != "" { // keys are kept in it, too
		folder, err := storage.Open(options)
		if err != nil {
			return c.options.ofData(err)
		}
		start = folder.Start
	}
	c.start = sync.OnceValues(func() (*storage.Member, error) { return start(ctx) })
	go func() { _, _ = c.start() }()
	return nil
}

func (c *Config) applyServerRun(context.Context) error {
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
	c.checkBootstrap()
	// One, for custom resources too.
	c.discovery = discovery.NewRecorder(c.customResources)
	c.generic.AggregatedDiscoveryGroupManager = c.discovery
	c.groupList = discovery.NewList(c.generic.Serializer)
	c.generic.LongRunningFunc = genericfilters.BasicLongRunningRequestCheck(
		sets.NewString("watch", "proxy"), sets.NewString("attach", "exec", "proxy", "log", "portforward"))
	if c.generic.FlowControl == nil {
		// Nobody asks for the tracked counts.
		c.generic.DisabledPostStartHooks.Insert("storage-object-count-tracker-hook")
	}
	c.generic.BuildHandlerChainFunc = c.buildHandlerChain
	c.generic.EnableIndex = false     // installed apart, with the groups
	c.generic.EnableDiscovery = false // so is it
	// Both are served by installOpenAPI, when first asked for; apiextensions needs
	// its own to be set.
	c.generic.SkipOpenAPIInstallation = true
	return nil
}

func (c *Config) buildStorage(ctx context.Context) error {
	o := c.options
	encoding := serverstorage.NewDefaultResourceEncodingConfigForEffectiveVersion(builtin.Table().Scheme(), c.generic.EffectiveVersion)
	factory := serverstorage.NewDefaultStorageFactory(o.Etcd.StorageConfig, o.Etcd.DefaultStorageMediaType,
		builtin.Table().Serializer(), encoding, o.apis, builtin.Table().StoragePrefixes())
	for _, resources := range builtin.Table().Cohabiting() {
		factory.AddCohabitatingResources(resources...)
	}
	for resource, servers := range o.etcdLocations {
		factory.SetEtcdLocation(resource, servers)
	}
	o.Etcd.StorageConfig.StorageObjectCountTracker = c.generic.StorageObjectCountTracker
	if !o.embedded() {
		if err := c.applyEtcd(factory); err != nil {
			return err
		}
		c.generic.RESTOptionsGetter = c.stored(c.generic.RESTOptionsGetter)
		c.announce(ctx)
		return c.buildPeers(factory)
	}
	var err error
	if c.member, err = c.start(); err != nil {
		return o.ofData(err)
	}
	if o.Etcd.EncryptionProviderConfigFilepath == "" {
		c.generic.RESTOptionsGetter = o.Etcd.CreateRESTOptionsGetter(factory, nil)
	} else {
		o.Etcd.SkipHealthEndpoints = true
		if err := c.applyEtcd(factory); err != nil {
			return err
		}
	}
	c.generic.RESTOptionsGetter = c.stored(c.generic.RESTOptionsGetter)
	check := healthz.NamedCheck("etcd", func(r *http.Request) error { return c.member.Healthy(r.Context()) })
	c.generic.HealthzChecks = append(c.generic.HealthzChecks, check)
	c.generic.ReadyzChecks = append(c.generic.ReadyzChecks, check)
	c.generic.LivezChecks = append(c.generic.LivezChecks, check)
	return nil
}

// ofData names the flag by which the data is where etcd fails, if it was given.
func (o CompletedOptions) ofData(err error) error {
	if err == nil || o.DataDir == "" {
		return err
	}
	return fmt.Errorf("--data-dir: %w", err)
}

// etcdFailed is closed when the embedded etcd has failed; it is nil if etcd is elsewhere, and comes back.
func (c *Config) etcdFailed() <-chan struct{} {
	if c.member == nil {
		return nil
	}
	return c.member.Failed()
}

// applyEtcd fails for the encryption alone: etcd has answered, and its certificates are checked.
func (c *Config) applyEtcd(factory serverstorage.StorageFactory) error {
	return c.options.ofEncryption(c.options.Etcd.ApplyWithStorageFactoryTo(factory, c.generic))
}

// ofEncryption names the flag by which what is stored is encrypted, if it was given.
func (o CompletedOptions) ofEncryption(err error) error {
	if err == nil || o.Etcd.EncryptionProviderConfigFilepath == "" {
		return err
	}
	return fmt.Errorf("--encryption-provider-config %s: %w", o.Etcd.EncryptionProviderConfigFilepath, err)
}

// announce marks the server in the external etcd. Without the mark it works all the same.
func (c *Config) announce(ctx context.Context) {
	var err error
	if c.presence, err = storage.Announce(c.following, c.options.Etcd.StorageConfig.Transport, c.options.Etcd.StorageConfig.Prefix); err != nil {
		klog.FromContext(ctx).Error(err, "other servers of the same etcd can't be told of this one: custom resources are served 2 seconds after their definition")
	}
}

// alone says whether no other server has the same objects.
func (c *Config) alone() bool {
	return c.member != nil || c.presence != nil && c.presence.Alone(c.life)
}

// stored puts what a getter says to store onto the embedded member, if there is one.
func (c *Config) stored(getter generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	if c.member == nil {
		return storage.ExternalRESTOptionsGetter(getter)
	}
	return c.member.RESTOptionsGetter(getter)
}

func (c *Config) listen(context.Context) error {
	o := c.options
	serving := *o.Serving
	if err := openListener(&serving); err != nil {
		return err
	}
	c.listener = newListener(serving.Listener, o.Yield)
	if err := c.identify(); err != nil {
		return err
	}
	if c.generic.PublicAddress == nil || c.generic.PublicAddress.IsUnspecified() {
		c.generic.PublicAddress = publicAddress(serving.BindAddress)
	}
	return nil
}

// secure provides the server's keys and certificates.
func (c *Config) secure(context.Context) error {
	if err := c.provideKeys(); err != nil {
		return err
	}
	serving := *c.options.Serving
	serving.Listener = c.listener
	if serving.ServerCert.CertKey.CertFile == "" && serving.ServerCert.GeneratedCert == nil {
		if err := c.provideServingCertificate(&serving); err != nil {
			return err
		}
	}
	if err := serving.ApplyTo(&c.generic.SecureServing); err != nil {
		return fmt.Errorf("serving on %s: %w", serving.Listener.Addr(), err)
	}
	return nil
}

func (c *Config) buildClients(context.Context) error {
	c.loopback = &loopback{life: c.life}
	c.generic.LoopbackClientConfig = &rest.Config{
		Host:      "https://" + genericapiserver.LoopbackClientServerNameOverride,
		Transport: c.loopback,
		// Reached without a port, it is still authenticated like everybody else.
		BearerToken: uuid.NewString(),
		UserAgent:   loopbackUserAgent,
		QPS:         -1,
		// Nobody reads what the server warns itself of.
		WarningHandler: rest.NoWarnings{},
		ContentConfig: rest.ContentConfig{
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json", ContentType: "application/vnd.kubernetes.protobuf",
		},
	}
	c.checkLoopback()
	client, err := kubernetes.NewForConfig(c.generic.LoopbackClientConfig)
	if err != nil {
		return err
	}
	// Dynamic clients speak JSON.
	dynamicClient, err := dynamic.NewForConfig(&rest.Config{
		Host: c.generic.LoopbackClientConfig.Host, Transport: c.loopback, BearerToken: c.generic.LoopbackClientConfig.BearerToken, UserAgent: loopbackUserAgent, QPS: -1,
		WarningHandler: rest.NoWarnings{},
	})
	if err != nil {
		return err
	}
	c.client, c.dynamicClient = client, dynamicClient
	c.informers = admission.NewInformers(client, admission.NewBarrier(c.following), c.newInformer)
	c.flowSchemas = c.newFlowSchemas()
	return nil
}

func (c *Config) buildAuthentication(context.Context) error {
	ca, err := dynamiccertificates.NewStaticCAContent("miniapi", c.authority.CA())
	if err != nil {
		return err
	}
	c.authentication, err = c.options.Authentication.ApplyTo(c.life, &c.generic.Authentication, c.generic.SecureServing, authentication.Environment{
		Client: c.client.CoreV1(), ClientCA: ca, SigningKey: c.signingKey, APIServerID: c.generic.APIServerID,
	})
	if err != nil {
		return err
	}
	c.follow(c.authentication.Config)
	if c.options.LogRequest != nil {
		c.generic.Authentication.Authenticator = notingAuthenticator{c.generic.Authentication.Authenticator}
	}
	return nil
}

// follow reloads a configuration file when it changes, if there is one, until a stop begins.
func (c *Config) follow(file *reload.File) {
	if file != nil {
		c.reloads.Go(func() { file.Follow(c.following) })
	}
}

func (c *Config) buildAuthorization(context.Context) error {
	built, err := c.options.Authorization.Build(c.life, c.informers, c.generic.APIServerID)
	if err != nil {
		return err
	}
	c.follow(built.Config)
	c.generic.Authorization.Authorizer, c.generic.RuleResolver = built.Authorizer, built.RuleResolver
	if slices.Contains(built.Modes, authorization.ModeRBAC) {
		// The informers of the authorizer may be behind for a moment; this must not be.
		c.escalation = rbac.NewEscalationChecker(rbac.FromClient(c.client.RbacV1()), built.Authorizer)
	}
	return nil
}

func (c *Config) buildAudit(context.Context) error {
	audit := c.options.Audit
	if err := audit.ApplyTo(c.generic); err != nil {
		// Which of them it is, the error says, but not where.
		var files []string
		for _, file := range []struct{ flag, path string }{
			{"--audit-policy-file", audit.PolicyFile},
			{"--audit-log-path", audit.LogOptions.Path},
			{"--audit-webhook-config-file", audit.WebhookOptions.ConfigFile},
		} {
			if file.path != "" {
				files = append(files, file.flag+" "+file.path)
			}
		}
		return fmt.Errorf("%s: %w", strings.Join(files, ", "), err)
	}
	return nil
}
