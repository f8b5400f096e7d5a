package server

import (
	"context"
	"net"
	"slices"

	"go.opentelemetry.io/otel/trace"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	cacheddiscovery "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/component-base/tracing"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/rbac"
	"github.com/miniapi-dev/miniapi/pkg/server/authn"
	"github.com/miniapi-dev/miniapi/pkg/server/authz/rbacauthorizer"
	"github.com/miniapi-dev/miniapi/pkg/server/registration"
	"github.com/miniapi-dev/miniapi/pkg/storage/informer"
)

// secured is what decides about requests: the cluster whose objects configure the decisions, and who may do what there.
type secured struct {
	// cluster are the clients that read namespaces, webhook configurations, policies and so on.
	cluster *clients
	config  *rest.Config // of a cluster that the server is behind
	// kubernetes is the client configuration for the service default/kubernetes, by which webhooks that are aggregated
	// APIs are called.
	kubernetes     *rest.Config
	authentication authenticated
	escalation     rbac.Escalation // checks the writes of roles
}

// secureAlone makes the server itself the cluster.
func secureAlone(_ context.Context, o CompletedOptions, generic *genericapiserver.Config, _ trace.TracerProvider, own *clients, keys serverKeys, l *lifetime) (secured, error) {
	authentication, err := authenticate(o, generic, own, keys, l)
	if err != nil {
		return secured{}, err
	}
	escalation, err := authorize(o, generic, own, l)
	return secured{cluster: own, kubernetes: generic.LoopbackClientConfig, authentication: authentication, escalation: escalation}, err
}

// secureBehind leaves the decisions to the cluster that the server is behind. It returns an error if the cluster doesn't
// answer, or doesn't allow what the server needs.
func secureBehind(ctx context.Context, o CompletedOptions, generic *genericapiserver.Config, tracer trace.TracerProvider, own *clients, keys serverKeys, l *lifetime) (secured, error) {
	cluster, err := o.Behind.Cluster()
	if err != nil {
		return secured{}, err
	}
	if err := cluster.Check(ctx); err != nil {
		return secured{}, err
	}
	if tracer != nil {
		cluster.Config.Wrap(tracing.WrapperFor(tracer))
	}
	generic.AddReadyzChecks(cluster.Health())
	clients, err := newClusterClients(cluster.Config, own, l)
	if err != nil {
		return secured{}, err
	}
	kubernetesService, err := cluster.KubernetesService()
	if err != nil {
		return secured{}, err
	}
	// The server's own authentication makes tokens for service accounts, if the server is asked to serve some. Requests are
	// authenticated by the cluster.
	unused, serving := genericapiserver.AuthenticationInfo{}, *generic.SecureServing
	applied, err := o.Authentication.ApplyTo(l.life, &unused, &serving, authn.Environment{
		Client: own.typed.CoreV1(), Webhooks: own.typed.AdmissionregistrationV1(), SigningKey: keys.signing, APIServerID: generic.APIServerID,
	})
	if err != nil {
		return secured{}, err
	}
	l.follow(applied.Config)
	if err := cluster.Authenticate(&generic.Authentication, generic.SecureServing); err != nil {
		return secured{}, err
	}
	if err := o.Behind.Authorization.ApplyTo(&generic.Authorization); err != nil {
		return secured{}, err
	}
	escalation := rbacauthorizer.NewEscalationChecker(rbacauthorizer.FromClient(clients.typed.RbacV1()), generic.Authorization.Authorizer).Check
	return secured{clients, cluster.Config, kubernetesService, authenticated{Applied: applied}, escalation}, nil
}

// newClusterClients returns clients of a cluster. The loopback transport is still the server's own.
func newClusterClients(config *rest.Config, own *clients, l *lifetime) (*clients, error) {
	typed, err := kubernetes.NewForConfig(withProtobuf(config))
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &clients{
		loopback:  own.loopback,
		typed:     typed,
		dynamic:   dynamicClient,
		informers: informer.NewFactory(typed, informer.NewBarrier(l.following), nil),
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(cacheddiscovery.NewMemCacheClient(typed.Discovery())),
	}
	l.waitFor(c.informers.Shutdown)
	return c, nil
}

// ownGroups returns the groups of the table that aren't built in.
func (o CompletedOptions) ownGroups() []registry.Group {
	builtIn := builtin.Groups()
	return slices.DeleteFunc(slices.Clone(o.Table.Groups()), func(g registry.Group) bool {
		return slices.ContainsFunc(builtIn, func(b registry.Group) bool { return b.Name == g.Name })
	})
}

// registeredService returns the namespace and the name of the Service in the cluster that leads to the server. The name is
// "" without a registration.
func (o CompletedOptions) registeredService() (namespace, name string) {
	own := o.ownGroups()
	if !o.Registration.Enabled() || len(own) == 0 {
		return "", ""
	}
	return o.Registration.ServiceFor(own[0].Name)
}

// newRegistration returns the registration of the server's own groups in the cluster, or nil without --register.
func newRegistration(c *Config, built []registry.APIGroup) (*registration.Registration, error) {
	if !c.options.Registration.Enabled() {
		return nil, nil
	}
	var versions []registration.Version
	for _, own := range c.options.ownGroups() {
		for _, group := range built {
			if group.Name != own.Name {
				continue
			}
			for _, gv := range group.Versions {
				groupPriority, versionPriority := c.options.Table.Priority(gv)
				versions = append(versions, registration.Version{GroupVersion: gv, GroupPriority: groupPriority, VersionPriority: versionPriority})
			}
		}
	}
	return registration.New(c.options.Registration, registration.Config{
		Cluster:  c.config,
		Versions: versions,
		Address:  c.endpoint.Addr().(*net.TCPAddr),
		CA:       func() []byte { return c.keys.servingCA(c.generic.SecureServing) },
		Follow: func(changed func()) {
			if files, ok := c.generic.SecureServing.Cert.(dynamiccertificates.Notifier); ok {
				files.AddListener(contentListener(changed))
			}
		},
	})
}

// withProtobuf returns the configuration of a client that reads and writes built-in types in protobuf.
func withProtobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.AcceptContentTypes, config.ContentType = protobufOrJSON, protobuf
	return config
}
