package server

import (
	"context"
	"errors"
	"net"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditbackend "k8s.io/apiserver/pkg/audit"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
	"github.com/miniapi-dev/miniapi/pkg/server/apidiscovery"
	"github.com/miniapi-dev/miniapi/pkg/server/apiendpoints"
	"github.com/miniapi-dev/miniapi/pkg/server/audit"
	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
	"github.com/miniapi-dev/miniapi/pkg/server/health"
	"github.com/miniapi-dev/miniapi/pkg/server/outgoing"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// Config has the parts from which New builds a server: a running etcd, the open port, authentication, authorization,
// admission and storage. The resources, the handlers and the controllers don't exist yet. A caller that doesn't call New
// must call Close. New calls Close if it fails, and Server.Run calls Close at its end.
type Config struct {
	options CompletedOptions
	// generic is the configuration of k8s.io/apiserver, which has most of the other parts.
	generic *genericapiserver.Config
	*lifetime
	// connections are the connections to webhooks, to the servers of APIServices and to peers.
	connections *outgoing.Connections
	endpoint    endpoint
	etcd        *etcd.Etcd
	keys        serverKeys
	tracer      trace.TracerProvider // nil if requests aren't traced
	clients     *clients
	// written is called after each write of an object, and before the answer to the client.
	written func(schema.GroupResource, runtime.Object)
	secured
	webhooks webhooks
	served   *servedAPIs
	// trace records the decisions of admission about requests.
	trace  *admissiontrace.Trace
	faults *faults.Injector
	// bootstrapped is the health check that tells whether etcd has the objects that every cluster has, such as the
	// system namespaces.
	bootstrapped health.Bootstrapped
	// endpoints keeps the endpoints of the service "kubernetes". It is nil if the server alone writes them.
	endpoints *apiendpoints.Reconciler
}

// Config starts the dependencies of a server: etcd, unless it is external, and the listener. After an error, Config
// stops them again.
func (o CompletedOptions) Config(ctx context.Context) (_ *Config, err error) {
	l := newLifetime(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close(ctx))
		}
	}()
	leave, err := o.globals.Enter()
	if err != nil {
		return nil, err
	}
	l.atEnd(func(context.Context) error { return leave() })
	connections := outgoing.New(context.WithoutCancel(ctx))
	connections.Route = routeToPods(o.Components)
	l.interrupt(func() error {
		connections.Close()
		return nil
	})
	bootstrapped, manager := health.NewBootstrapped(), apidiscovery.NewManager()
	generic, tracer, err := newGenericConfig(o, bootstrapped, manager)
	if err != nil {
		return nil, err
	}
	endpoint, err := listen(o, generic, l)
	if err != nil {
		return nil, err
	}
	// The embedded etcd elects its leader while the next parts are made. Only the storage waits for it.
	store, err := etcd.New(ctx, etcd.Config{
		Options: o.Etcd, DataDir: o.DataDir, Holder: endpoint.Addr().String(), Following: l.following, Life: l.life,
	})
	if err != nil {
		return nil, err
	}
	l.atEnd(store.Close)
	keys, err := newServerKeys(o, store)
	if err != nil {
		return nil, err
	}
	if err := secure(o, generic, endpoint, keys.authority); err != nil {
		return nil, err
	}
	clients, err := newClients(o, generic, tracer, store, l)
	if err != nil {
		return nil, err
	}
	written := newWritten(o, clients, bootstrapped, l)
	secureRequests := secureAlone
	if o.Behind.Enabled() {
		secureRequests = secureBehind
	}
	secured, err := secureRequests(ctx, o, generic, tracer, clients, keys, l)
	if err != nil {
		return nil, err
	}
	injector := faults.New(faults.Config{
		Seed: o.Faults.Seed, Serializer: generic.Serializer, Namespaces: secured.cluster.typed.CoreV1().Namespaces(), Abort: endpoint.Abort, Stopping: l.following,
	})
	webhooks := newWebhooks(o, generic, tracer, secured, keys, connections, l)
	resources := newCustomResources(written, clients, l)
	if err := admit(o, generic, secured.cluster, webhooks, resources, l); err != nil {
		return nil, err
	}
	decisions := newTrace(o, generic, clients, secured.cluster, l)
	if err := audit.Apply(o.Audit, generic); err != nil {
		return nil, err
	}
	factory, err := store.ApplyTo(generic, o.Table, o.etcdLocations)
	if err != nil {
		return nil, err
	}
	peers, err := newPeers(o, generic, clients, endpoint, connections, manager, factory, l)
	if err != nil {
		return nil, err
	}
	endpoints, err := newAPIEndpoints(o, clients, endpoint, store, factory, l)
	if err != nil {
		return nil, err
	}
	served := newServed(generic, resources, manager, peers)
	generic.BuildHandlerChainFunc = handlerChain(o, served, decisions, injector, endpoint)
	return &Config{
		options: o, generic: generic, lifetime: l, connections: connections, endpoint: endpoint, etcd: store, keys: keys, tracer: tracer, clients: clients,
		written: written, secured: secured, webhooks: webhooks, served: served, trace: decisions, faults: injector,
		bootstrapped: bootstrapped, endpoints: endpoints,
	}, nil
}

// Close stops everything that Config started.
func (c *Config) Close(ctx context.Context) error { return c.close(ctx) }

// CA is the server's own certificate authority, in PEM.
func (c *Config) CA() []byte { return c.keys.authority.CA() }

// ServingCertificate issues a serving certificate for a webhook by the server's own authority. It returns the
// certificate and its key in PEM. The server trusts the certificate if Options.Admission.Services has the address of
// the webhook, or if the webhook's caBundle is CA.
func (c *Config) ServingCertificate(hosts []string, ips []net.IP) (cert, key []byte, err error) {
	pair, err := c.keys.authority.Serving(pki.Names{DNS: hosts, IPs: ips})
	return pair.Cert, pair.Key, err
}

// AuditTo sends audit events to a further backend, in addition to the backends of the options. If the argument rules
// isn't nil, it replaces the policy of the options. Without any policy, the backend gets all events with requests and
// responses.
func (c *Config) AuditTo(backend auditbackend.Backend, rules *auditinternal.Policy) {
	audit.Add(c.generic, backend, rules)
}

// seesItself reports whether an audit log, traces, the record of admission decisions, or faults need the requests that
// the server sends to itself. Otherwise the server may write objects without a request.
func (c *Config) seesItself() bool {
	return c.generic.AuditBackend != nil || c.tracer != nil || c.trace.Recorder.On() || c.faults.InForce()
}
