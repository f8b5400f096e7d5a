package server

import (
	"net/http"
	"slices"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	cacheddiscovery "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/tracing"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/server/direct"
	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
	"github.com/miniapi-dev/miniapi/pkg/server/flowschemas"
	"github.com/miniapi-dev/miniapi/pkg/server/health"
	"github.com/miniapi-dev/miniapi/pkg/server/loopback"
	"github.com/miniapi-dev/miniapi/pkg/storage"
	"github.com/miniapi-dev/miniapi/pkg/storage/informer"
)

// loopbackUserAgent is the User-Agent of the server's own requests, and names the server in managed fields. During a
// stop, k8s.io/apiserver refuses new requests, but serves those with this User-Agent: requests in progress may need
// requests of the server itself.
const loopbackUserAgent = direct.FieldManager + "/miniapi"

// Content types of the server's own requests.
const protobuf, protobufOrJSON = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"

// clients has the clients with which the server reads and writes its own API.
type clients struct {
	loopback  *loopback.Transport
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
	informers *informer.Factory
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	informing informing
}

// resourcesChanged makes the mapper and the informers find changed resources.
func (c *clients) resourcesChanged() {
	c.mapper.Reset()
	c.informers.ResourcesChanged()
}

// resourceOf returns the resource of a kind, or false if the mapper doesn't find the kind.
func (c *clients) resourceOf(gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return schema.GroupVersionResource{}, false
	}
	return mapping.Resource, true
}

// newClients returns clients whose requests stay in the process. With tracing, the requests have client spans, as in
// kube-apiserver.
func newClients(o CompletedOptions, generic *genericapiserver.Config, tracer trace.TracerProvider, store *etcd.Etcd, l *lifetime) (*clients, error) {
	transport := loopback.New(l.life)
	traced := http.RoundTripper(transport)
	if tracer != nil {
		traced = tracing.WrapperFor(tracer)(transport)
	}
	generic.LoopbackClientConfig = &rest.Config{
		Host:      "https://" + genericapiserver.LoopbackClientServerNameOverride,
		Transport: traced,
		// k8s.io/apiserver accepts this token as the credential of the server itself.
		BearerToken: uuid.NewString(),
		UserAgent:   loopbackUserAgent,
		QPS:         -1,
		// Drop warnings, because they are for people, and only the server itself uses these clients.
		WarningHandler: rest.NoWarnings{},
		ContentConfig: rest.ContentConfig{
			AcceptContentTypes: protobufOrJSON, ContentType: protobuf,
		},
	}
	health.AddLoopback(generic, transport.Check)
	typed, err := kubernetes.NewForConfig(generic.LoopbackClientConfig)
	if err != nil {
		return nil, err
	}
	// The dynamic client doesn't support protobuf.
	dynamicClient, err := dynamic.NewForConfig(&rest.Config{
		Host: generic.LoopbackClientConfig.Host, Transport: traced, BearerToken: generic.LoopbackClientConfig.BearerToken, UserAgent: loopbackUserAgent, QPS: -1,
		WarningHandler: rest.NoWarnings{},
	})
	if err != nil {
		return nil, err
	}
	informing := informing{o.Table, o.enabled, store}
	c := &clients{
		loopback:  transport,
		typed:     typed,
		dynamic:   dynamicClient,
		informers: informer.NewFactory(typed, informer.NewBarrier(l.following), informing.newInformer),
		// Custom resources change while the server runs. resourcesChanged then drops the mapper's cache.
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(cacheddiscovery.NewMemCacheClient(typed.Discovery())),
		informing: informing,
	}
	l.waitFor(c.informers.Shutdown)
	return c, nil
}

// informing makes informers that take their objects from an embedded etcd.
type informing struct {
	table   *registry.Table
	enabled *serverstorage.ResourceConfig
	etcd    *etcd.Etcd
}

// newInformer returns an informer for objects of a type. If it returns nil, the caller must use client-go's own
// informer. For a resource that
// the table lacks or that --runtime-config turns off, newInformer returns an informer without objects.
func (i informing) newInformer(obj runtime.Object, resource schema.GroupResource) cache.SharedIndexInformer {
	kinds, _, err := i.table.Scheme().ObjectKinds(obj)
	switch {
	case !i.hasObjects(resource, kinds):
		return informer.Empty(obj)
	case err != nil:
		return nil
	case !i.etcd.Embedded() || !slices.ContainsFunc(kinds, isHub):
		return nil // the embedded etcd stores no objects of this Go type, or the etcd is external
	}
	return informer.New(resource, func() *storage.Feed { return i.etcd.Member().Feed(resource) }).Sharing()
}

func isHub(kind schema.GroupVersionKind) bool { return kind.Version == runtime.APIVersionInternal }

// hasObjects reports whether an informer can find objects. An embedded etcd gives all objects of a resource if any
// version of the resource is served. With an external etcd, the informer makes requests, so the version of its own
// types must be served.
func (i informing) hasObjects(resource schema.GroupResource, kinds []schema.GroupVersionKind) bool {
	return slices.ContainsFunc(i.table.Scheme().PrioritizedVersionsForGroup(resource.Group), func(gv schema.GroupVersion) bool {
		readable := i.etcd.Embedded() || slices.ContainsFunc(kinds, func(kind schema.GroupVersionKind) bool { return kind.GroupVersion() == gv })
		return readable && i.enabled.ResourceEnabled(gv.WithResource(resource.Resource))
	})
}

// newWritten returns the function that is called after each write of an object, and before the answer to the client. The
// function returns when the informers have the write, when a stop begins, or after the time limit of the barrier. If the
// server has FlowSchemas, a write of one also updates their conditions.
func newWritten(o CompletedOptions, c *clients, bootstrapped health.Bootstrapped, l *lifetime) func(schema.GroupResource, runtime.Object) {
	barrier := c.informers.Barrier()
	if slices.ContainsFunc(flowschemas.Resources, func(gvr schema.GroupVersionResource) bool { return !o.enabled.ResourceEnabled(gvr) }) {
		return func(resource schema.GroupResource, obj runtime.Object) { barrier.Wait(l.following, resource, obj) }
	}
	conditions := flowschemas.New(l.following, c.typed.FlowcontrolV1(), bootstrapped.Done())
	l.waitFor(conditions.Wait)
	return func(resource schema.GroupResource, obj runtime.Object) {
		barrier.Wait(l.following, resource, obj)
		conditions.Written(resource)
	}
}
