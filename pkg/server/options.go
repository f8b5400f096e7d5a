package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/flagz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/component-base/cli/flag"
	netutils "k8s.io/utils/net"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/server/authentication"
	"github.com/miniapi-dev/miniapi/pkg/server/authorization"
	"github.com/miniapi-dev/miniapi/pkg/server/peers"
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
	// AdvertiseHost gives these endpoints the host's own address when the server is bound to the loopback, where
	// they otherwise are none.
	AdvertiseHost bool
	// ProxyClientCertFile and ProxyClientKeyFile prove to other servers, which serve aggregated APIs, that they may
	// believe who asks.
	ProxyClientCertFile, ProxyClientKeyFile string
	// Peers are the other servers of an external etcd.
	Peers *peers.Options
	// RejectForwardingRedirects keeps redirects of such servers from clients. Its default is true.
	RejectForwardingRedirects bool
	// EnableAggregatorRouting is accepted: services are always resolved to endpoints.
	EnableAggregatorRouting bool
	// Kubelet is how kubelets are reached.
	Kubelet KubeletOptions
	// WrapHandler, if there is one, is put around what serves a request once it is known who asks,
	// and that they may.
	WrapHandler func(next http.Handler) http.Handler
	// Yield, if there is one, is called before answers and events are sent. A program that has nothing else to
	// do can let its goroutines run first: what they have to send goes with it.
	Yield func()
	// LogRequest, if there is one, is told of each request of a client when it is answered. It is called by many
	// goroutines.
	LogRequest func(Request)
	// Flagz is what /flagz tells of, for a program that has flags.
	Flagz flagz.Reader
	// FeatureGates are turned on or off, after those of --feature-gates. KnownFeatureGates has their names.
	FeatureGates map[string]bool

	globals *globals
}

// KubeletOptions are how kubelets are reached for logs, exec, attach and port-forward.
type KubeletOptions struct {
	CAFile, CertFile, KeyFile string
	PreferredAddressTypes     []string
}

// NewOptions returns the defaults of "miniapi serve".
func NewOptions() *Options {
	globals := newGlobals()
	o := &Options{
		globals:                globals,
		ServerRun:              genericoptions.NewServerRunOptionsForComponent(componentName, globals),
		Etcd:                   genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", nil)),
		Serving:                genericoptions.NewSecureServingOptions(),
		Audit:                  genericoptions.NewAuditOptions(),
		Features:               genericoptions.NewFeatureOptions(),
		APIs:                   genericoptions.NewAPIEnablementOptions(),
		Tracing:                genericoptions.NewTracingOptions(),
		Authentication:         authentication.NewOptions(),
		Authorization:          authorization.NewOptions(),
		Admission:              admission.NewOptions(),
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

// OwnFlags is the section of the flags that kube-apiserver doesn't have.
const OwnFlags = "miniapi's own"

// AddFlags adds the flags by section.
func (o *Options) AddFlags(fss *flag.NamedFlagSets) {
	o.addOwnFlags(fss.FlagSet(OwnFlags))
	o.Admission.AddOwnFlags(fss.FlagSet(OwnFlags))
	o.ServerRun.AddUniversalFlags(fss.FlagSet("generic"))
	o.Etcd.AddFlags(fss.FlagSet("etcd"))
	o.Serving.AddFlags(fss.FlagSet("secure serving"))
	o.Audit.AddFlags(fss.FlagSet("auditing"))
	o.addFeatureFlags(fss.FlagSet("features"))
	o.APIs.AddFlags(fss.FlagSet("API enablement"))
	o.Tracing.AddFlags(fss.FlagSet("traces"))
	o.Authentication.AddFlags(fss.FlagSet("authentication"))
	o.Authorization.AddFlags(fss.FlagSet("authorization"))
	o.Admission.AddFlags(fss.FlagSet("admission"))
	o.addMiscFlags(fss.FlagSet("misc"))
	// The library serves nothing then.
	fss.FlagSet("secure serving").Lookup("secure-port").Usage = "The port on which to serve HTTPS with authentication and authorization. 0 takes a free one."
	if !o.TransientKeys {
		fss.FlagSet("secure serving").Lookup("cert-dir").Usage = "The folder where the server's authority, its serving certificate and the key of service account tokens are kept, across restarts. Several servers of one etcd can share it. By default, pki in --data-dir."
	}
	mustName(fss.FlagSet("etcd"), "etcd-servers", "an etcd server, for example http://127.0.0.1:2379")
	mustName(fss.FlagSet(OwnFlags), "data-dir", "a folder: leave the flag out, and the data is gone at exit")
}

// mustName refuses an empty value of a flag, as a script has it whose variable isn't set: it would mean that the data
// isn't kept.
func mustName(fs *pflag.FlagSet, name, what string) {
	f := fs.Lookup(name)
	f.Value, f.DefValue = nonEmpty{f.Value, what}, ""
}

type nonEmpty struct {
	pflag.Value
	what string
}

// Set implements pflag.Value.
func (v nonEmpty) Set(s string) error {
	if s == "" {
		return fmt.Errorf("must name %s", v.what)
	}
	return v.Value.Set(s)
}

// addFeatureFlags leaves out the flag of priority and fairness: see NewOptions.
func (o *Options) addFeatureFlags(fs *pflag.FlagSet) {
	all := pflag.NewFlagSet("features", pflag.ContinueOnError)
	o.Features.AddFlags(all)
	all.VisitAll(func(f *pflag.Flag) {
		if f.Name != "enable-priority-and-fairness" {
			fs.AddFlag(f)
		}
	})
}

func (o *Options) addOwnFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.DataDir, "data-dir", o.DataDir, "Keep the data and the server's keys in this `folder`, across restarts. Without it, and without --etcd-servers, the data is gone at exit.")
}

func (o *Options) addMiscFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ServiceClusterIPRange, "service-cluster-ip-range", o.ServiceClusterIPRange, "A CIDR notation IP range from which to assign service cluster IPs; two of them, separated by a comma, for dual stack.")
	fs.Var(&o.ServiceNodePortRange, "service-node-port-range", "A port range to reserve for services with NodePort visibility, inclusive at both ends.")
	fs.DurationVar(&o.EventTTL, "event-ttl", o.EventTTL, "Amount of time to retain events.")
	fs.BoolVar(&o.AllowPrivileged, "allow-privileged", o.AllowPrivileged, "If true, allow privileged containers.")
	fs.StringVar(&o.EndpointReconcilerType, "endpoint-reconciler-type", o.EndpointReconcilerType, "Whether the endpoints of the service \"kubernetes\" are written: lease, master-count or none.")
	fs.StringVar(&o.ProxyClientCertFile, "proxy-client-cert-file", o.ProxyClientCertFile, "Client certificate by which the servers of aggregated APIs (APIService) trust this one in who asks. Without it, and without --requestheader-client-ca-file, one is made, and ConfigMap kube-system/extension-apiserver-authentication says whom to trust.")
	fs.StringVar(&o.ProxyClientKeyFile, "proxy-client-key-file", o.ProxyClientKeyFile, "Private key for --proxy-client-cert-file.")
	o.Peers.AddFlags(fs)
	fs.BoolVar(&o.RejectForwardingRedirects, "aggregator-reject-forwarding-redirect", o.RejectForwardingRedirects, "Keep redirects by the servers of aggregated APIs from clients.")
	fs.BoolVar(&o.EnableAggregatorRouting, "enable-aggregator-routing", o.EnableAggregatorRouting, "Route requests to the endpoints of a service rather than to its cluster IP. miniapi always does.")
	fs.StringVar(&o.Kubelet.CAFile, "kubelet-certificate-authority", o.Kubelet.CAFile, "Path to a cert file for the certificate authority of kubelets. Without it, their certificates aren't verified.")
	fs.StringVar(&o.Kubelet.CertFile, "kubelet-client-certificate", o.Kubelet.CertFile, "Path to a client cert file for TLS to kubelets.")
	fs.StringVar(&o.Kubelet.KeyFile, "kubelet-client-key", o.Kubelet.KeyFile, "Path to a client key file for TLS to kubelets.")
	fs.StringSliceVar(&o.Kubelet.PreferredAddressTypes, "kubelet-preferred-address-types", o.Kubelet.PreferredAddressTypes, "The node address types to use for kubelet connections, the preferred one first.")
}

// CompletedOptions can build a Config.
type CompletedOptions struct{ *completedOptions }

type completedOptions struct {
	Options
	apis         *serverstorage.ResourceConfig
	serviceRange []*net.IPNet
	// etcdLocations are the etcd servers of the resources that aren't where the rest is.
	etcdLocations map[schema.GroupResource][]string
	warnings      []string
}

// embedded says that etcd runs in this process.
func (o *completedOptions) embedded() bool {
	return len(o.Etcd.StorageConfig.Transport.ServerList) == 0
}

// Complete checks the options, all at once, and fills in what they leave open. The
// error names the flags.
func (o *Options) Complete() (_ CompletedOptions, err error) {
	// Before anything asks for a feature gate.
	if err := o.globals.set(o.FeatureGates); err != nil {
		return CompletedOptions{}, fmt.Errorf("--feature-gates, --emulated-version or --min-compatibility-version: %w", err)
	}
	leave, err := process.enter(o.globals.wanted)
	if err != nil {
		return CompletedOptions{}, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	completed := &completedOptions{Options: *o}
	errs := slices.DeleteFunc(o.validate(), func(err error) bool { return err == nil })
	if completed.serviceRange, err = parseServiceRange(o.ServiceClusterIPRange); err != nil {
		errs = append(errs, err)
	}
	if completed.etcdLocations, err = o.etcdLocations(); err != nil {
		errs = append(errs, err)
	}
	if completed.apis, err = o.enabledAPIs(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return CompletedOptions{}, utilerrors.NewAggregate(errs)
	}
	if err := o.ServerRun.Complete(); err != nil {
		return CompletedOptions{}, err
	}
	completed.warnings = o.Admission.Warnings()
	modes := o.Authorization.Modes
	if o.Authorization.ConfigFile != "" {
		modes = nil
	}
	if warning := o.Authentication.ApplyAuthorization(modes); warning != "" {
		completed.warnings = append(completed.warnings, warning)
	}
	return CompletedOptions{completed}, nil
}

// Warnings are what was asked for and is not what happens.
func (o CompletedOptions) Warnings() []string { return o.warnings }

func (o *Options) validate() []error {
	var errs []error
	for _, part := range []func() []error{
		o.validateServerRun, o.validateServing, o.Audit.Validate, o.Features.Validate,
		o.Authentication.Validate, o.Authorization.Validate, o.Admission.Validate, o.validateEtcd, o.validateOwn, o.validatePeers, o.validateFiles,
	} {
		errs = append(errs, part()...)
	}
	return errs
}

// wordings are those of the library's errors that don't name the flag, or don't hold here.
var wordings = strings.NewReplacer(
	"emulation version", "--emulated-version",
	"minCompatibilityVersion version", "--min-compatibility-version",
	"minCompatibilityVersion", "--min-compatibility-version",
	"ServerRunOptions.EmulationForwardCompatible", "--emulation-forward-compatible",
	"ServerRunOptions.RuntimeConfigEmulationForwardCompatible", "--runtime-config-emulation-forward-compatible",
	"in strict-transport-security-directives", "in --strict-transport-security-directives",
	"shutdown-watch-termination-grace-period, if", "--shutdown-watch-termination-grace-period, if",
	"must be between 1 and 65535, inclusive. It cannot be turned off with 0", "must be between 0 and 65535: 0 takes a free port",
	"must be between 0 and 65535, inclusive. 0 for turning off secure port", "must be between 0 and 65535: 0 takes a free port",
)

func reworded(errs []error) []error {
	for i, err := range errs {
		if err != nil {
			errs[i] = errors.New(wordings.Replace(err.Error()))
		}
	}
	return errs
}

func (o *Options) validateServerRun() []error { return reworded(o.ServerRun.Validate()) }

// validateEtcd checks what there is to check when no external etcd is named.
func (o *Options) validateEtcd() []error {
	if len(o.Etcd.StorageConfig.Transport.ServerList) > 0 {
		errs := o.Etcd.Validate()
		if o.DataDir != "" {
			errs = append(errs, errors.New("--data-dir is where an embedded etcd keeps its data: it can't be used together with --etcd-servers"))
		}
		return errs
	}
	withServers := *o.Etcd
	withServers.StorageConfig.Transport.ServerList = []string{"embedded"}
	return withServers.Validate()
}

func (o *Options) validateOwn() []error {
	var errs []error
	if o.EventTTL <= 0 {
		errs = append(errs, fmt.Errorf("--event-ttl %s: must be more than 0", o.EventTTL))
	}
	if o.ServerRun.RequestTimeout == 0 { // the library refuses what is less
		errs = append(errs, errors.New("--request-timeout 0s: must be more than 0, or no request is answered, the server's own neither"))
	}
	if o.ServiceNodePortRange.Size < 1 {
		errs = append(errs, fmt.Errorf("--service-node-port-range %q: must hold at least one port, as 30000-32767 does", o.ServiceNodePortRange.String()))
	}
	switch o.EndpointReconcilerType {
	case "lease", "master-count", "none":
	default:
		errs = append(errs, fmt.Errorf("--endpoint-reconciler-type %q: must be lease, master-count or none", o.EndpointReconcilerType))
	}
	if _, err := genericoptions.ParseWatchCacheSizes(o.Etcd.WatchCacheSizes); err != nil {
		errs = append(errs, fmt.Errorf("--watch-cache-sizes: %w", err))
	}
	return errs
}

// minServiceBits is how many bits the addresses of the smallest range of cluster IPs have that kube-apiserver takes.
const minServiceBits = 3

func parseServiceRange(value string) ([]*net.IPNet, error) {
	var ranges []*net.IPNet
	for _, s := range strings.Split(value, ",") {
		_, ipNet, err := netutils.ParseCIDRSloppy(strings.TrimSpace(s))
		if err != nil {
			return nil, fmt.Errorf("--service-cluster-ip-range %q: must be a CIDR such as 10.0.0.0/24, or two of them: %w", value, err)
		}
		if ones, bits := ipNet.Mask.Size(); bits-ones < minServiceBits {
			return nil, fmt.Errorf("--service-cluster-ip-range %q: %s must be at least %d IP addresses, as 10.0.0.0/29 and fd00::/125 are", value, ipNet, 1<<minServiceBits)
		}
		ranges = append(ranges, ipNet)
	}
	if len(ranges) > 2 {
		return nil, fmt.Errorf("--service-cluster-ip-range %q: must not have more than two ranges", value)
	}
	if len(ranges) == 2 && netutils.IsIPv6CIDR(ranges[0]) == netutils.IsIPv6CIDR(ranges[1]) {
		return nil, fmt.Errorf("--service-cluster-ip-range %q: two ranges must be of different IP families", value)
	}
	return ranges, nil
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
