package server

import (
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/flagz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/component-base/featuregate"
	netutils "k8s.io/utils/net"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/server/authentication"
	"github.com/miniapi-dev/miniapi/pkg/server/authorization"
	"github.com/miniapi-dev/miniapi/pkg/server/decisions"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
	"github.com/miniapi-dev/miniapi/pkg/server/keys"
	"github.com/miniapi-dev/miniapi/pkg/server/peers"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
	"github.com/miniapi-dev/miniapi/pkg/server/process"
	"github.com/miniapi-dev/miniapi/pkg/server/requestlog"
)

// Options are everything about a server that flags can say, under kube-apiserver's
// own names wherever miniapi has the feature.
type Options struct {
	ServerRun      *genericoptions.ServerRunOptions
	Etcd           *genericoptions.EtcdOptions
	Serving        *genericoptions.SecureServingOptions
	Audit          *genericoptions.AuditOptions
	Features       *genericoptions.FeatureOptions
	APIs           *genericoptions.APIEnablementOptions
	Tracing        *genericoptions.TracingOptions
	Authentication *authentication.Options
	Authorization  *authorization.Options
	Admission      *admission.Options
	Decisions      *decisions.Options
	Faults         *faults.Options

	// DataDir is where an embedded etcd keeps its data, and the server its keys unless Serving.ServerCert.CertDirectory
	// says where. Without it, and without Etcd.StorageConfig.Transport.ServerList, data is gone when the server stops.
	DataDir string
	// TransientKeys keeps the certificate authority and the key of service account tokens in memory, as a
	// kube-apiserver makes neither: Serving.ServerCert.CertDirectory has the serving certificate alone.
	TransientKeys bool
	// ServiceClusterIPRange is the range that cluster IPs are taken from, in CIDR
	// notation, or two of them separated by a comma.
	ServiceClusterIPRange string
	// ServiceNodePortRange is the range of node ports.
	ServiceNodePortRange utilnet.PortRange
	// EventTTL is how long events are kept.
	EventTTL time.Duration
	// AllowPrivileged allows privileged containers.
	AllowPrivileged bool
	// EndpointReconcilerType is how the endpoints of the service "kubernetes" are kept.
	EndpointReconcilerType string
	// AdvertiseHost gives these endpoints the host's own address when the server is bound to the loopback. Without it,
	// there are no endpoints then.
	AdvertiseHost bool
	// ProxyClientCertFile and ProxyClientKeyFile prove to the servers of aggregated APIs that this server may name the
	// user of a request.
	ProxyClientCertFile, ProxyClientKeyFile string
	// Controllers selects the controllers that run in the server: none by default.
	Controllers controllers.Selection
	// Peers are the other servers of an external etcd.
	Peers *peers.Options
	// RejectForwardingRedirects keeps redirects by the servers of aggregated APIs from clients. Its default is true.
	RejectForwardingRedirects bool
	// EnableAggregatorRouting is accepted: services are always resolved to endpoints.
	EnableAggregatorRouting bool
	// Kubelet is how kubelets are reached.
	Kubelet KubeletOptions
	// WrapHandler, if there is one, wraps the handler of requests that are authenticated and authorized.
	WrapHandler func(next http.Handler) http.Handler
	// LogRequest, if there is one, is told of each request of a client when it is answered. It is called by many
	// goroutines.
	LogRequest func(Request)
	// Definitions are there from the start.
	Definitions Definitions
	// Flagz is what /flagz tells of, for a program that has flags.
	Flagz flagz.Reader
	// FeatureGates are turned on or off, after those of --feature-gates. KnownFeatureGates has their names.
	FeatureGates map[string]bool

	globals *process.Globals
}

// Definitions are CustomResourceDefinitions that a server with an empty embedded etcd has from its start, as if a client
// had applied them. The server leaves out those about which something else than their content decides, such as an
// admission plugin: Server.Installed tells which are there, and requests must apply the others.
type Definitions struct {
	// FieldManager is that of the client.
	FieldManager string
	// JSON has a definition in each element.
	JSON [][]byte
}

// Request is a request that was answered.
type Request = requestlog.Request

// KubeletOptions are how kubelets are reached for logs, exec, attach and port-forward.
type KubeletOptions struct {
	CAFile, CertFile, KeyFile string
	PreferredAddressTypes     []string
}

// NewOptions returns the defaults of "miniapi serve", but for its controllers.
func NewOptions() *Options {
	globals := process.NewGlobals(shared.process)
	o := &Options{
		globals:                globals,
		ServerRun:              genericoptions.NewServerRunOptionsForComponent(process.ComponentName, globals),
		Etcd:                   genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", nil)),
		Serving:                genericoptions.NewSecureServingOptions(),
		Audit:                  genericoptions.NewAuditOptions(),
		Features:               genericoptions.NewFeatureOptions(),
		APIs:                   genericoptions.NewAPIEnablementOptions(),
		Tracing:                genericoptions.NewTracingOptions(),
		Authentication:         authentication.NewOptions(),
		Authorization:          authorization.NewOptions(),
		Admission:              admission.NewOptions(),
		Decisions:              decisions.NewOptions(),
		Faults:                 &faults.Options{},
		ServiceClusterIPRange:  "10.0.0.0/16",
		ServiceNodePortRange:   utilnet.PortRange{Base: 30000, Size: 2768},
		EventTTL:               time.Hour,
		AllowPrivileged:        true,
		EndpointReconcilerType: "lease",
		Peers:                  peers.NewOptions(),

		RejectForwardingRedirects: true,
		Kubelet: KubeletOptions{
			PreferredAddressTypes: []string{"Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"},
		},
	}
	o.Serving.BindAddress = netutils.ParseIPSloppy("127.0.0.1")
	o.Serving.BindPort = 6443
	o.Serving.ServerCert.CertDirectory = ""
	o.Etcd.DefaultStorageMediaType = "application/vnd.kubernetes.protobuf"
	// Priority and fairness costs every request, and one developer has no tenants.
	o.Features.EnablePriorityAndFairness = false
	return o
}

// NewKubeAPIServerOptions returns the defaults of kube-apiserver itself, for command
// lines that were written for it.
func NewKubeAPIServerOptions() *Options {
	o := NewOptions()
	o.Authorization.Modes = []string{authorization.ModeAlwaysAllow}
	o.Authentication.Anonymous.DefaultPaths = nil
	o.Serving.BindAddress = netutils.ParseIPSloppy("0.0.0.0")
	o.Serving.ServerCert.CertDirectory = "/var/run/kubernetes"
	o.AllowPrivileged = false
	o.AdvertiseHost = true
	o.TransientKeys = true
	return o
}

// EmulateVersion makes the server behave as a version of Kubernetes, such as 1.35, as --emulated-version does.
func (o *Options) EmulateVersion(minor string) error { return o.globals.Emulate(minor) }

// KnownFeatureGates returns the feature gates that the server knows, and what is known of each by version.
func (o *Options) KnownFeatureGates() map[featuregate.Feature]featuregate.VersionedSpecs {
	return o.globals.KnownGates()
}

// AddMetrics records which gates and versions the options choose, for a program that runs one server.
func (o *Options) AddMetrics() { o.globals.AddMetrics() }

// KeptAuthority returns the authority that is kept where the options say, for what is to be issued without a server. It
// makes the authority, and the data folder, if there are none yet.
func (o *Options) KeptAuthority() (*pki.Authority, error) { return o.ownKeys().Kept() }

// servingKeys is where the serving certificate is kept.
func (o *Options) servingKeys() keys.Store {
	return keys.StoreOf(o.Serving.ServerCert.CertDirectory, o.DataDir)
}

// ownKeys is where the keys are kept that no kube-apiserver makes for itself.
func (o *Options) ownKeys() keys.Store {
	if o.TransientKeys {
		return keys.Store{}
	}
	return o.servingKeys()
}
