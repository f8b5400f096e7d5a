package server

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	cacheddiscovery "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/tracing"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/direct"
	"github.com/miniapi-dev/miniapi/pkg/server/flowcontrol"
	"github.com/miniapi-dev/miniapi/pkg/server/health"
	"github.com/miniapi-dev/miniapi/pkg/server/loopback"
	"github.com/miniapi-dev/miniapi/pkg/storage"
	"github.com/miniapi-dev/miniapi/pkg/storage/informer"
)

// loopbackUserAgent is the User-Agent of the server's own requests, and names the server in managed fields. During a
// stop, k8s.io/apiserver refuses new requests, but serves those with this User-Agent: requests in progress may need
// requests of the server itself.
const loopbackUserAgent = direct.FieldManager + "/miniapi"

// clients has the clients with which the server reads and writes its own API.
type clients struct {
	loopback  *loopback.Transport
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
	informers *admission.Informers
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	// controllers has the selected controllers. It is empty before buildControllers, and if no controller is selected.
	controllers atomic.Pointer[controllers.Set]
}

var _ admission.Starter = &informer.Informer{}

// resourcesChanged makes the mapper, the informers and the controllers find changed resources. The server calls it when
// custom resources or the resources of other servers change.
func (c *clients) resourcesChanged() {
	c.mapper.Reset()
	c.informers.ResourcesChanged()
	if set := c.controllers.Load(); set != nil {
		set.ResourcesChanged()
	}
}

// resourceOf returns the resource of a kind, or false if the mapper doesn't find the kind.
func (c *clients) resourceOf(gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return schema.GroupVersionResource{}, false
	}
	return mapping.Resource, true
}

func buildClients(_ context.Context, c *Config) error {
	transport := loopback.New(c.life)
	traced := http.RoundTripper(transport) // with tracing, these requests have client spans, as in kube-apiserver
	if tracer := tracer(c); tracer != nil {
		traced = tracing.WrapperFor(tracer)(transport)
	}
	c.generic.LoopbackClientConfig = &rest.Config{
		Host:      "https://" + genericapiserver.LoopbackClientServerNameOverride,
		Transport: traced,
		// k8s.io/apiserver accepts this token as the credential of the server itself.
		BearerToken: uuid.NewString(),
		UserAgent:   loopbackUserAgent,
		QPS:         -1,
		// Drop warnings, because they are for people, and only the server itself uses these clients.
		WarningHandler: rest.NoWarnings{},
		ContentConfig: rest.ContentConfig{
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json", ContentType: "application/vnd.kubernetes.protobuf",
		},
	}
	health.AddLoopback(c.generic, transport.Check)
	typed, err := kubernetes.NewForConfig(c.generic.LoopbackClientConfig)
	if err != nil {
		return err
	}
	// The dynamic client doesn't support protobuf.
	dynamicClient, err := dynamic.NewForConfig(&rest.Config{
		Host: c.generic.LoopbackClientConfig.Host, Transport: traced, BearerToken: c.generic.LoopbackClientConfig.BearerToken, UserAgent: loopbackUserAgent, QPS: -1,
		WarningHandler: rest.NoWarnings{},
	})
	if err != nil {
		return err
	}
	newInformer := func(obj runtime.Object, resource schema.GroupResource) cache.SharedIndexInformer {
		return newInformer(c, obj, resource)
	}
	c.clients.loopback = transport
	c.clients.typed = typed
	c.clients.dynamic = dynamicClient
	c.clients.informers = admission.NewInformers(typed, admission.NewBarrier(c.following), newInformer)
	// Custom resources change while the server runs. resourcesChanged then drops the mapper's cache.
	c.clients.mapper = restmapper.NewDeferredDiscoveryRESTMapper(cacheddiscovery.NewMemCacheClient(typed.Discovery()))
	if !slices.ContainsFunc(flowcontrol.Resources, func(gvr schema.GroupVersionResource) bool { return !c.options.apis.ResourceEnabled(gvr) }) {
		c.flowSchemas = flowcontrol.New(c.following, typed.FlowcontrolV1(), c.bootstrapped.Done())
	}
	return nil
}

// newInformer returns an informer for objects of a type. If it returns nil, the caller must use client-go's own
// informer. For a resource that --runtime-config turns off, newInformer returns an informer without objects.
func newInformer(c *Config, obj runtime.Object, resource schema.GroupResource) cache.SharedIndexInformer {
	kinds, _, err := builtin.Table().Scheme().ObjectKinds(obj)
	switch {
	case err != nil:
		return nil
	case !hasObjects(c, resource, kinds):
		return informer.Empty(obj)
	case !c.etcd.Embedded() || !slices.ContainsFunc(kinds, isHub):
		return nil // the embedded etcd stores no objects of this Go type, or the etcd is external
	}
	return informer.New(resource, func() *storage.Feed { return c.etcd.Member().Feed(resource) })
}

func isHub(kind schema.GroupVersionKind) bool { return kind.Version == runtime.APIVersionInternal }

// hasObjects tells whether an informer can find objects. An embedded etcd gives all objects of a resource if any
// version of the resource is served. With an external etcd, the informer makes requests, so the version of its own
// types must be served.
func hasObjects(c *Config, resource schema.GroupResource, kinds []schema.GroupVersionKind) bool {
	return slices.ContainsFunc(builtin.Table().Scheme().PrioritizedVersionsForGroup(resource.Group), func(gv schema.GroupVersion) bool {
		readable := c.etcd.Embedded() || slices.ContainsFunc(kinds, func(kind schema.GroupVersionKind) bool { return kind.GroupVersion() == gv })
		return readable && c.options.apis.ResourceEnabled(gv.WithResource(resource.Resource))
	})
}

// localURL returns the URL for clients on the same machine. If the server listens on all addresses, the URL has the
// address 127.0.0.1.
func localURL(c *Config) string {
	address := c.generic.SecureServing.Listener.Addr().(*net.TCPAddr)
	host := address.IP.String()
	if address.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "https://" + net.JoinHostPort(host, strconv.Itoa(address.Port))
}

// AdminConfig returns a client configuration for a user who may do everything.
func (s *Server) AdminConfig() *rest.Config {
	return &rest.Config{
		Host: localURL(s.config),
		TLSClientConfig: rest.TLSClientConfig{
			CAData: servingCA(s.config), CertData: s.admin.Cert, KeyData: s.admin.Key,
		},
	}
}

// UserConfig issues a client certificate for the user and the groups, and returns a client configuration with it.
func (s *Server) UserConfig(name string, groups ...string) (*rest.Config, error) {
	pair, err := s.config.security.authority.Client(name, groups...)
	if err != nil {
		return nil, err
	}
	config := s.AdminConfig()
	config.CertData, config.KeyData = pair.Cert, pair.Key
	return config, nil
}

// servingCA returns the certificates by which clients verify the server: the server's own authority, and before it the
// serving certificate if another authority has issued it.
func servingCA(c *Config) []byte {
	shown, _ := c.generic.SecureServing.Cert.CurrentCertKeyContent()
	if c.security.authority.HasIssued(shown) {
		return c.CA()
	}
	return append(slices.Clone(shown), c.CA()...)
}
