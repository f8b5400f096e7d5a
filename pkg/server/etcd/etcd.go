// Package etcd is the etcd of one server: embedded in the process, or elsewhere. It also checks the flags that say where
// what is stored.
//
// [New] is the way in. Don't use the package for stores and watch caches, which pkg/storage puts onto an etcd.
package etcd

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// timeout bounds how long a start waits for an etcd elsewhere.
const timeout = 5 * time.Second

// Config is what an etcd is started with.
type Config struct {
	Options *genericoptions.EtcdOptions
	// DataDir is where an embedded etcd keeps its data, "" for a temporary folder.
	DataDir string
	// Holder is the address of the server, by which another one names the holder of the data folder.
	Holder string
	// Yield, if there is one, is called before events are sent.
	Yield func()
	// Following is the context in which informers run, and Life that of the server.
	Following, Life context.Context
}

// Etcd is the etcd of one server.
type Etcd struct {
	Config
	// start waits until the embedded etcd serves; it is nil if etcd is elsewhere. member is set by Await.
	start  func() (*storage.Member, error)
	member *storage.Member
	// presence tells other servers of the same external etcd of this one; nil if it couldn't.
	presence *storage.Presence
}

// IsEmbedded says whether options name no etcd, so that one runs in the process.
func IsEmbedded(o *genericoptions.EtcdOptions) bool {
	return len(o.StorageConfig.Transport.ServerList) == 0
}

// New starts the embedded etcd, for which Await waits, or makes sure that the one elsewhere is there.
func New(ctx context.Context, config Config) (*Etcd, error) {
	e := &Etcd{Config: config}
	if !IsEmbedded(config.Options) {
		return e, e.check(ctx)
	}
	options := storage.Options{DataDir: config.DataDir, Holder: config.Holder, LogTo: log(ctx), Yield: config.Yield}
	start := func(ctx context.Context) (*storage.Member, error) { return storage.Start(ctx, options) }
	if config.DataDir != "" { // keys are kept in it, too
		folder, err := storage.Open(options)
		if err != nil {
			return nil, OfData(config.DataDir, err)
		}
		start = folder.Start
	}
	e.start = sync.OnceValues(func() (*storage.Member, error) { return start(ctx) })
	go func() { _, _ = e.start() }()
	return e, nil
}

// Embedded says whether the etcd runs in this process.
func (e *Etcd) Embedded() bool { return e.start != nil }

// Member is the embedded etcd; nil if etcd is elsewhere, or before ApplyTo.
func (e *Etcd) Member() *storage.Member { return e.member }

// Close stops the embedded etcd, and takes back what tells other servers of this one.
func (e *Etcd) Close(ctx context.Context) error {
	if e.presence != nil {
		e.presence.Wait()
	}
	if e.start == nil {
		return nil
	}
	member, err := e.start()
	if err != nil {
		return nil //nolint:nilerr // ApplyTo has returned it
	}
	return OfData(e.DataDir, member.Stop(context.WithoutCancel(ctx)))
}

// Failed is closed when the embedded etcd has failed; it is nil if etcd is elsewhere, and comes back.
func (e *Etcd) Failed() <-chan struct{} {
	if e.member == nil {
		return nil
	}
	return e.member.Failed()
}

// Alone says whether no other server has the same objects.
func (e *Etcd) Alone() bool {
	return e.member != nil || e.presence != nil && e.presence.Alone(e.Life)
}

// Stored puts the stores of a getter onto the etcd.
func (e *Etcd) Stored(getter generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	if e.member == nil {
		return storage.ExternalRESTOptionsGetter(getter)
	}
	return e.member.RESTOptionsGetter(getter)
}

// Root is what all keys begin with, up to a slash.
func (e *Etcd) Root() string {
	return strings.TrimSuffix(path.Join("/", e.Options.StorageConfig.Prefix), "/")
}

// ApplyTo waits until the embedded etcd serves, and makes a server store the kinds of a table in the etcd. Locations are
// the etcd servers of resources that are elsewhere. It returns the factory by which they are stored.
func (e *Etcd) ApplyTo(config *genericapiserver.Config, table *registry.Table, locations map[schema.GroupResource][]string) (serverstorage.StorageFactory, error) {
	encoding := serverstorage.NewDefaultResourceEncodingConfigForEffectiveVersion(table.Scheme(), config.EffectiveVersion)
	factory := serverstorage.NewDefaultStorageFactory(e.Options.StorageConfig, e.Options.DefaultStorageMediaType,
		table.Serializer(), encoding, config.MergedResourceConfig, table.StoragePrefixes())
	for _, resources := range table.Cohabiting() {
		factory.AddCohabitatingResources(resources...)
	}
	for resource, servers := range locations {
		factory.SetEtcdLocation(resource, servers)
	}
	e.Options.StorageConfig.StorageObjectCountTracker = config.StorageObjectCountTracker
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
	e.announce()
	return nil
}

func (e *Etcd) applyEmbedded(config *genericapiserver.Config, factory serverstorage.StorageFactory) (err error) {
	if e.member, err = e.start(); err != nil {
		return OfData(e.DataDir, err)
	}
	if e.Options.EncryptionProviderConfigFilepath == "" {
		config.RESTOptionsGetter = e.Options.CreateRESTOptionsGetter(factory, nil)
	} else {
		e.Options.SkipHealthEndpoints = true
		if err := e.applyOptions(config, factory); err != nil {
			return err
		}
	}
	config.AddHealthChecks(healthz.NamedCheck("etcd", func(r *http.Request) error { return e.member.Healthy(r.Context()) }))
	return nil
}

// applyOptions fails for the encryption alone: etcd has answered, and its certificates are checked.
func (e *Etcd) applyOptions(config *genericapiserver.Config, factory serverstorage.StorageFactory) error {
	return OfEncryption(e.Options.EncryptionProviderConfigFilepath, e.Options.ApplyWithStorageFactoryTo(factory, config))
}

// announce marks the server in the external etcd. Without the mark it works all the same.
func (e *Etcd) announce() {
	var err error
	if e.presence, err = storage.Announce(e.Following, e.Options.StorageConfig.Transport, e.Options.StorageConfig.Prefix); err != nil {
		klog.FromContext(e.Following).Error(err, "other servers of the same etcd can't be told of this one: custom resources are served 2 seconds after their definition")
	}
}

// check makes sure that the etcd servers elsewhere are there.
func (e *Etcd) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	transport := e.Options.StorageConfig.Transport
	if err := storage.CheckExternal(ctx, transport); err != nil {
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
		if err := storage.CheckExternal(ctx, transport); err != nil {
			return fmt.Errorf("--etcd-servers-overrides %s: %w", e.Options.EtcdServersOverrides[i], err)
		}
	}
	return nil
}
