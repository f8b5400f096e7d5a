// Package etcd is the etcd of one server: embedded in the process, or external. It applies kube-apiserver's flags of
// etcd and of stores, such as --storage-media-type, --watch-cache, --encryption-provider-config and
// --delete-collection-workers. It also checks the etcd servers that flags name, the resources of
// --etcd-servers-overrides, and the file of --encryption-provider-config.
//
// [New] is the constructor, and [Etcd.ApplyTo] applies the flags. Don't use the package for stores and watch caches:
// pkg/storage makes them.
package etcd

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	storagefactory "k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/storage"
	"github.com/miniapi-dev/miniapi/pkg/storage/external"
)

// timeout limits the time for which a start waits for the answers of external etcd servers.
const timeout = 5 * time.Second

// Config has the settings of an etcd.
type Config struct {
	Options *genericoptions.EtcdOptions
	// DataDir is the data folder of an embedded etcd. If it is "", the etcd uses a temporary folder.
	DataDir string
	// Holder is the address of this server. It is written to the data folder. A second server that finds the folder in
	// use names the address in its error.
	Holder string
	// Following and Life are contexts. Following ends when a stop begins, and the informers end with it. Life ends
	// after the last request.
	Following, Life context.Context
}

// Etcd is the etcd of one server.
type Etcd struct {
	Config
	// start waits until the embedded etcd serves requests, and returns the member. With an external etcd, start is nil.
	// ApplyTo calls start and sets member.
	start  func() (*storage.Member, error)
	member *storage.Member
	// presence is a key in the external etcd by which servers count one another. It is nil with an embedded etcd, before
	// ApplyTo, and if the key could not be written.
	presence *external.Presence
	// clusters are the external etcds: of --etcd-servers, and of --etcd-servers-overrides.
	clusters []storagebackend.Config
}

// IsEmbedded tells whether the options name no etcd servers, so that an etcd runs in the process.
func IsEmbedded(o *genericoptions.EtcdOptions) bool {
	return len(o.StorageConfig.Transport.ServerList) == 0
}

// New starts an embedded etcd and returns before the etcd serves requests. With an external etcd, New returns after the
// etcd has answered.
func New(ctx context.Context, config Config) (*Etcd, error) {
	e := &Etcd{Config: config}
	if !IsEmbedded(config.Options) {
		return e, e.check(ctx)
	}
	options := storage.Options{DataDir: config.DataDir, Holder: config.Holder, LogTo: log(ctx)}
	start := func(ctx context.Context) (*storage.Member, error) { return storage.Start(ctx, options) }
	if config.DataDir != "" {
		// While etcd starts, the server writes its private keys to the data folder. So Open runs before: it locks the
		// folder for this server, and makes a missing folder that only its owner can read.
		folder, err := storage.Open(options)
		if err != nil {
			return nil, ofData(config.DataDir, err)
		}
		start = folder.Start
	}
	e.start = sync.OnceValues(func() (*storage.Member, error) { return start(ctx) })
	go func() { _, _ = e.start() }()
	return e, nil
}

// Embedded tells whether the etcd runs in this process.
func (e *Etcd) Embedded() bool { return e.start != nil }

// Member returns the embedded etcd. It is nil with an external etcd, and before ApplyTo.
func (e *Etcd) Member() *storage.Member { return e.member }

// Close stops the embedded etcd. With an external etcd, Close waits until the key by which other servers count this
// server is removed.
func (e *Etcd) Close(ctx context.Context) error {
	if e.presence != nil {
		e.presence.Wait()
	}
	if e.start == nil {
		return nil
	}
	member, err := e.start()
	if err != nil {
		return nil //nolint:nilerr // ApplyTo returns this error
	}
	return ofData(e.DataDir, member.Stop(context.WithoutCancel(ctx)))
}

// Failed returns a channel that is closed when the embedded etcd fails. The channel is nil before ApplyTo. It is also
// nil with an external etcd, which may work again later.
func (e *Etcd) Failed() <-chan struct{} {
	if e.member == nil {
		return nil
	}
	return e.member.Failed()
}

// Alone tells whether this server is the only one that uses its etcd. It returns false if it can't determine that.
func (e *Etcd) Alone() bool {
	return e.member != nil || e.presence != nil && e.presence.Alone(e.Life)
}

// Stored returns a getter of storage options whose stores use this etcd.
func (e *Etcd) Stored(getter generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	if e.member == nil {
		return storage.ExternalRESTOptionsGetter(getter)
	}
	return e.member.RESTOptionsGetter(getter)
}

// Probes returns functions that return an error if an etcd doesn't answer, one for each etcd that stores objects. There
// are none before ApplyTo.
func (e *Etcd) Probes() []func(context.Context) error {
	if e.member != nil {
		return []func(context.Context) error{e.member.Healthy}
	}
	var probes []func(context.Context) error
	for _, cluster := range e.clusters {
		probes = append(probes, func(ctx context.Context) error {
			prober, err := storagefactory.CreateProber(cluster)
			if err != nil {
				return err
			}
			defer func() { _ = prober.Close() }()
			return prober.Probe(ctx)
		})
	}
	return probes
}

// Root returns the prefix of all keys, without the slash at its end.
func (e *Etcd) Root() string {
	return strings.TrimSuffix(path.Join("/", e.Options.StorageConfig.Prefix), "/")
}

// uncached are the values of --watch-cache-sizes by which Events have no watch cache, as in kube-apiserver, unless a later
// value says otherwise. Events come in bursts, in which a watch cache ends the watches that don't keep up.
var uncached = []string{"events#0", "events.events.k8s.io#0"}

// ApplyTo waits until the embedded etcd serves requests, and configures a server to store the kinds of a table in the
// etcd. The argument locations maps each resource that other etcd servers store to these servers. The result makes the
// storage configurations of resources.
func (e *Etcd) ApplyTo(config *genericapiserver.Config, table *registry.Table, locations map[schema.GroupResource][]string) (serverstorage.StorageFactory, error) {
	encoding := serverstorage.NewDefaultResourceEncodingConfigForEffectiveVersion(table.Scheme(), config.EffectiveVersion)
	factory := serverstorage.NewDefaultStorageFactory(e.Options.StorageConfig, e.Options.DefaultStorageMediaType,
		table.Serializer(), encoding, config.MergedResourceConfig, table.StoragePrefixes())
	for _, resources := range table.Cohabiting() {
		factory.AddCohabitatingResources(resources...)
	}
	for _, resource := range table.StoredInJSON() {
		factory.SetSerializer(resource, runtime.ContentTypeJSON, nil)
	}
	for resource, servers := range locations {
		factory.SetEtcdLocation(resource, servers)
	}
	e.Options.StorageConfig.StorageObjectCountTracker = config.StorageObjectCountTracker
	e.Options.WatchCacheSizes = slices.Concat(uncached, e.Options.WatchCacheSizes)
	apply := e.applyExternal
	if e.Embedded() {
		apply = e.applyEmbedded
	}
	if err := apply(config, factory); err != nil {
		return nil, err
	}
	config.RESTOptionsGetter = e.Stored(config.RESTOptionsGetter)
	return factory, nil
}

func (e *Etcd) applyExternal(config *genericapiserver.Config, factory serverstorage.StorageFactory) error {
	if err := e.applyOptions(config, factory); err != nil {
		return err
	}
	e.clusters = factory.Configs()
	e.announce()
	return nil
}

func (e *Etcd) applyEmbedded(config *genericapiserver.Config, factory serverstorage.StorageFactory) (err error) {
	if e.member, err = e.start(); err != nil {
		return ofData(e.DataDir, err)
	}
	if e.Options.EncryptionProviderConfigFilepath == "" {
		config.RESTOptionsGetter = e.Options.CreateRESTOptionsGetter(factory, nil)
	} else {
		e.Options.SkipHealthEndpoints = true
		if err := e.applyOptions(config, factory); err != nil {
			return err
		}
	}
	healthy := func(r *http.Request) error { return e.member.Healthy(r.Context()) }
	config.AddHealthChecks(healthz.NamedCheck("etcd", healthy))
	config.AddReadyzChecks(healthz.NamedCheck("etcd-readiness", healthy))
	return nil
}

// applyOptions applies the library's options. Only the encryption can fail: etcd has answered before, and its
// certificates are checked.
func (e *Etcd) applyOptions(config *genericapiserver.Config, factory serverstorage.StorageFactory) error {
	return OfEncryption(e.Options.EncryptionProviderConfigFilepath, e.Options.ApplyWithStorageFactoryTo(factory, config))
}

// announce writes the key in the external etcd by which servers count one another. announce logs a failure and returns
// no error, because the server also works without the key.
func (e *Etcd) announce() {
	servers, err := external.New(e.Options.StorageConfig.Transport)
	if err == nil {
		e.presence, err = servers.Announce(e.Following, e.Options.StorageConfig.Prefix)
	}
	if err != nil {
		klog.FromContext(e.Following).Error(err, "the key by which servers of the same etcd count one another could not be written: custom resources are served 2 seconds after their definition")
	}
}

// check checks that the external etcd and each etcd of --etcd-servers-overrides answer.
func (e *Etcd) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	transport := e.Options.StorageConfig.Transport
	if err := answer(ctx, transport); err != nil {
		return fmt.Errorf("--etcd-servers: %w", err)
	}
	overrides, err := genericoptions.ParseEtcdServersOverrides(e.Options.EtcdServersOverrides)
	if err != nil {
		return err
	}
	answered := sets.New[string]()
	for i, override := range overrides {
		servers := strings.Join(override.Servers, ";")
		if answered.Has(servers) {
			continue
		}
		answered.Insert(servers)
		transport.ServerList = override.Servers
		if err := answer(ctx, transport); err != nil {
			return fmt.Errorf("--etcd-servers-overrides %s: %w", e.Options.EtcdServersOverrides[i], err)
		}
	}
	return nil
}

// answer returns nil if the etcd of the transport answers before ctx ends.
func answer(ctx context.Context, transport storagebackend.TransportConfig) error {
	servers, err := external.New(transport)
	if err != nil {
		return err
	}
	return servers.Check(ctx)
}
