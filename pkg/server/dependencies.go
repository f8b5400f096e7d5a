package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/server/authentication/serviceaccount"
	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
)

// dependencies are what the registry's storages need of this server.
func (c *Config) dependencies() (registry.Dependencies, error) {
	kubelet, err := c.kubelet()
	if err != nil {
		return registry.Dependencies{}, err
	}
	o := c.options
	return registry.Dependencies{
		RESTOptions:     c.generic.RESTOptionsGetter,
		Written:         c.written,
		Kubernetes:      o.globals.versions.EmulationVersion(),
		EventTTL:        o.EventTTL,
		Authenticator:   c.generic.Authentication.Authenticator,
		Audiences:       c.generic.Authentication.APIAudiences,
		Authorizer:      c.generic.Authorization.Authorizer,
		RuleResolver:    c.generic.RuleResolver,
		Escalation:      c.escalation,
		Tokens:          c.authentication.Tokens,
		ServiceNets:     o.serviceRange,
		AllowPrivileged: o.AllowPrivileged,
		NodePorts:       o.ServiceNodePortRange,
		IPAddresses:     c.client.NetworkingV1().IPAddresses(),
		Kubelet:         kubelet,
		CustomResource:  c.customResource,
		ServedResources: c.servedResources,
		ServiceWarning:  c.serviceWarning,
	}, nil
}

// customResource is the resource of a kind, if it is served.
func (c *Config) customResource(gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	mapping, err := c.restMapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return schema.GroupVersionResource{}, false
	}
	return mapping.Resource, true
}

// written is the registry's hook: what was written is in effect when it returns.
func (c *Config) written(resource schema.GroupResource, obj runtime.Object) {
	c.informers.Barrier().Wait(c.following, resource, obj)
	c.flowSchemas.written(resource)
}

// resourcesChanged is called when other resources are discovered than before: by custom resources, or by other servers.
func (c *Config) resourcesChanged() {
	c.restMapper.Reset()
	c.informers.ResourcesChanged()
}

func (c *Config) kubelet() (registry.Kubelet, error) {
	k := c.options.Kubelet
	transport, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAFile: k.CAFile, CertFile: k.CertFile, KeyFile: k.KeyFile, Insecure: k.CAFile == "",
	}})
	if err != nil {
		return registry.Kubelet{}, fmt.Errorf("--kubelet-certificate-authority, --kubelet-client-certificate, --kubelet-client-key: %w", err)
	}
	return registry.Kubelet{Transport: transport, AddressTypes: k.PreferredAddressTypes}, nil
}

// bootstrap says what the objects that every cluster has depend on.
func (s *Server) bootstrap() bootstrap.Config {
	c := s.config
	config := bootstrap.Config{
		SecurePort:    int32(c.generic.SecureServing.Listener.Addr().(*net.TCPAddr).Port),
		ClientCA:      c.authentication.ClientCA(),
		RequestHeader: c.authentication.RequestHeader,
		Served:        c.options.apis.ResourceEnabled,
	}
	for _, ipNet := range c.options.serviceRange {
		// Both come from net.ParseCIDR: the conversion can't fail.
		ones, _ := ipNet.Mask.Size()
		address, _ := netip.AddrFromSlice(ipNet.IP)
		config.ServiceCIDRs = append(config.ServiceCIDRs, netip.PrefixFrom(address.Unmap(), ones))
	}
	if address := c.advertised(); address != nil && c.options.EndpointReconcilerType != "none" {
		config.AdvertiseAddress, _ = netip.AddrFromSlice(address)
		config.AdvertiseAddress = config.AdvertiseAddress.Unmap()
	}
	return config
}

// notFound answers requests that no part of the server knows, with a Status.
func notFound(config *genericapiserver.Config) http.Handler {
	return notfoundhandler.New(config.Serializer, func(context.Context) bool { return true })
}

// installTokenDiscovery serves the OpenID documents that verify service account
// tokens. Like kube-apiserver it goes without for an issuer that can't be discovered.
func (c *Config) installTokenDiscovery(s *genericapiserver.GenericAPIServer) error {
	discovery, err := c.authentication.Discovery(c.generic.ExternalAddress)
	if err != nil {
		klog.V(1).InfoS("service account tokens can't be discovered", "err", err)
		return nil
	}
	for path, document := range map[string]http.Handler{
		serviceaccount.ConfigurationPath: discovery.Configuration(),
		serviceaccount.JWKSPath:          discovery.JWKS(),
	} {
		s.Handler.NonGoRestfulMux.Handle(path, document)
		s.Handler.NonGoRestfulMux.UnlistedHandle(path+"/", document) // as generated clients ask for it
	}
	return nil
}
