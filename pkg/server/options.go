package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/flagz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	netutils "k8s.io/utils/net"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/noderestriction"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/podtopologylabels"
	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/autoscaling"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
	"github.com/miniapi-dev/miniapi/pkg/server/authn"
	"github.com/miniapi-dev/miniapi/pkg/server/authz"
	"github.com/miniapi-dev/miniapi/pkg/server/behind"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
	"github.com/miniapi-dev/miniapi/pkg/server/featuregates"
	"github.com/miniapi-dev/miniapi/pkg/server/files"
	"github.com/miniapi-dev/miniapi/pkg/server/hookcalls"
	"github.com/miniapi-dev/miniapi/pkg/server/keys"
	"github.com/miniapi-dev/miniapi/pkg/server/peers"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
	"github.com/miniapi-dev/miniapi/pkg/server/registration"
	"github.com/miniapi-dev/miniapi/pkg/server/requestlog"
)

// OwnFlags is the section of the flags that kube-apiserver doesn't have.
const OwnFlags = "miniapi's own"

// Options are the settings of a server. Most of them have flags. A flag that kube-apiserver also has is named as in
// kube-apiserver.
type Options struct {
	ServerRun      *genericoptions.ServerRunOptions
	Etcd           *genericoptions.EtcdOptions
	Serving        *genericoptions.SecureServingOptions
	Audit          *genericoptions.AuditOptions
	Features       *genericoptions.FeatureOptions
	APIs           *genericoptions.APIEnablementOptions
	Tracing        *genericoptions.TracingOptions
	Authentication *authn.Options
	Authorization  *authz.Options
	Admission      *admission.Options
	AdmissionTrace *admissiontrace.Options
	Faults         *faults.Options

	// Table has the kinds that the server serves, besides custom resources. By default, it is the table of the built-in
	// kinds. A program makes a table of its own with registry.NewTable, once.
	Table *registry.Table
	// DataDir is the folder for the data of an embedded etcd, and for the server's keys unless
	// Serving.ServerCert.CertDirectory names another. If both DataDir and Etcd.StorageConfig.Transport.ServerList are
	// empty, the data is lost when the server stops.
	DataDir string
	// TransientKeys keeps the certificate authority and the key of service account tokens in memory. It is for command
	// lines of kube-apiserver, because kube-apiserver makes no authority and no such key.
	// Serving.ServerCert.CertDirectory then has only the serving certificate.
	TransientKeys bool
	// ServiceClusterIPRange is the range of cluster IPs in CIDR notation, or two ranges separated by a comma.
	ServiceClusterIPRange string
	// ServiceNodePortRange is the range of node ports.
	ServiceNodePortRange utilnet.PortRange
	// EventTTL is the time for which events are stored.
	EventTTL time.Duration
	// AllowPrivileged allows privileged containers.
	AllowPrivileged bool
	// EndpointReconcilerType is "lease" if the endpoints of the service "kubernetes" are the addresses of all live servers
	// of an external etcd, "master-count" if they are the address of this server alone, or "none".
	EndpointReconcilerType string
	// AdvertiseHost puts the host's own address into the endpoints of the service "kubernetes" if the server listens on
	// the loopback address. Without AdvertiseHost, the service of such a server has no endpoints.
	AdvertiseHost bool
	// ProxyClientCertFile and ProxyClientKeyFile are a client certificate and its key. The certificate proves to the
	// servers of aggregated APIs and to peers that a request comes from this server, so they trust the user name in the
	// request.
	ProxyClientCertFile, ProxyClientKeyFile string
	// Controllers selects the controllers that run in the server: none by default.
	Controllers controllers.Selection
	// Components are programs of a cluster, such as a scheduler, that run in the server with the controllers.
	Components []controllers.Component
	// Peers configures the peering with the other servers of an external etcd.
	Peers *peers.Options
	// Behind makes the server an aggregated one, behind a cluster. It is nil for command lines of kube-apiserver.
	Behind *behind.Options
	// Registration keeps the APIServices of the server in that cluster.
	Registration *registration.Options
	// RejectForwardingRedirects refuses the redirects of aggregated API servers, instead of passing them on to clients.
	// The default is true.
	RejectForwardingRedirects bool
	// EnableAggregatorRouting has no effect: the server always resolves services to endpoints.
	EnableAggregatorRouting bool
	// RuntimeHooks configures runtime hooks: a client requests the call of a hook, and the server calls the extensions.
	// They are off by default.
	RuntimeHooks *hookcalls.Options
	// Kubelet configures the connection to kubelets.
	Kubelet KubeletOptions
	// WrapHandler, if set, wraps the handler of authenticated and authorized requests.
	WrapHandler func(next http.Handler) http.Handler
	// LogRequest, if set, is called after each request of a client, by many goroutines.
	LogRequest func(Request)
	// Definitions are CustomResourceDefinitions that the server has from its start.
	Definitions Definitions
	// Load are paths of objects that were captured from a cluster. The server stores them as they are, before it is ready:
	// see Server.Load.
	Load []string
	// Kept is the name of objects that were kept on an earlier server of the process, with kept.Keeper.Keep. If there
	// are such objects, the server has copies of them from its start. The name must stand for all that the objects
	// depend on: the other options, and what clients apply. The server has no Keeper if the name is "", or if it can't
	// store objects without requests, for example with an audit log, with controllers or with an external etcd.
	Kept string
	// Flagz reads the flags that /flagz shows. It is nil for a program without flags.
	Flagz flagz.Reader
	// FeatureGates has values of feature gates, which override the flag --feature-gates.
	FeatureGates map[string]bool

	globals *featuregates.Globals
}

// Definitions are CustomResourceDefinitions that a server with an empty embedded etcd has from its start, as if a
// client had applied them. The server leaves out a definition if its stored form depends on more than its content, for
// example on an admission plugin. Server.Installed returns the stored definitions. The caller must apply the other
// definitions by requests.
type Definitions struct {
	// FieldManager is the field manager that owns the fields of the CustomResourceDefinitions.
	FieldManager string
	// JSON has the CustomResourceDefinitions in JSON, one in each element.
	JSON [][]byte
}

// Request describes a request that has ended, for Options.LogRequest.
type Request = requestlog.Request

// KubeletOptions configure the connection to kubelets for logs, exec, attach, port-forward and the proxy of nodes.
type KubeletOptions struct {
	CAFile, CertFile, KeyFile string
	PreferredAddressTypes     []string
}

// NewOptions returns the defaults of "miniapi serve". Only the selection of controllers differs: it is empty.
func NewOptions() *Options {
	globals := featuregates.NewGlobals(shared.process)
	o := &Options{
		globals:                globals,
		ServerRun:              genericoptions.NewServerRunOptionsForComponent(featuregates.ComponentName, globals),
		Etcd:                   genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", nil)),
		Serving:                genericoptions.NewSecureServingOptions(),
		Audit:                  genericoptions.NewAuditOptions(),
		Features:               genericoptions.NewFeatureOptions(),
		APIs:                   genericoptions.NewAPIEnablementOptions(),
		Tracing:                genericoptions.NewTracingOptions(),
		Authentication:         authn.NewOptions(),
		Authorization:          authz.NewOptions(),
		Admission:              admission.NewOptions(),
		AdmissionTrace:         admissiontrace.NewOptions(),
		Faults:                 &faults.Options{},
		ServiceClusterIPRange:  "10.0.0.0/16",
		ServiceNodePortRange:   utilnet.PortRange{Base: 30000, Size: 2768},
		EventTTL:               time.Hour,
		AllowPrivileged:        true,
		EndpointReconcilerType: "lease",
		Peers:                  peers.NewOptions(),
		Behind:                 behind.NewOptions(),
		Registration:           &registration.Options{},
		RuntimeHooks:           hookcalls.NewOptions(),

		RejectForwardingRedirects: true,
		Kubelet: KubeletOptions{
			PreferredAddressTypes: []string{"Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"},
		},
	}
	o.Serving.BindAddress = netutils.ParseIPSloppy("127.0.0.1")
	o.Serving.BindPort = 6443
	o.Serving.ServerCert.CertDirectory = ""
	o.Etcd.DefaultStorageMediaType = "application/vnd.kubernetes.protobuf"
	// Priority and fairness makes every request slower, and queues requests of different users fairly. A developer's
	// server has few users.
	o.Features.EnablePriorityAndFairness = false
	return o
}

// NewKubeAPIServerOptions returns the defaults for command lines that were written for kube-apiserver. The
// authorization mode, the bind address and the certificate folder, for example, have kube-apiserver's defaults.
func NewKubeAPIServerOptions() *Options {
	o := NewOptions()
	o.Authorization.Modes = []string{authz.ModeAlwaysAllow}
	o.Authentication.Anonymous.DefaultPaths = nil
	o.Serving.BindAddress = netutils.ParseIPSloppy("0.0.0.0")
	o.Serving.ServerCert.CertDirectory = "/var/run/kubernetes"
	o.AllowPrivileged = false
	o.AdvertiseHost = true
	o.TransientKeys = true
	o.Behind, o.Registration = nil, nil
	return o
}

// part has the options of one package, and the section of their flags in the help.
type part struct {
	section string
	options interface {
		AddFlags(*pflag.FlagSet)
		Validate() []error
	}
}

// parts returns the options of packages of this module.
func (o *Options) parts() []part {
	return []part{
		{OwnFlags, o.AdmissionTrace},
		{OwnFlags, o.Faults},
		{OwnFlags, o.RuntimeHooks},
		{"authentication", o.Authentication},
		{"authorization", o.Authorization},
		{"admission", o.Admission},
		{"misc", o.Peers},
	}
}

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
	for _, part := range o.parts() {
		part.options.AddFlags(fss.FlagSet(part.section))
	}
	o.addMiscFlags(fss.FlagSet("misc"))
	o.addAggregatedFlags(fss)
	// The help of k8s.io/apiserver about port 0 is wrong for this server: with 0, the server takes a free port.
	fss.FlagSet("secure serving").Lookup("secure-port").Usage = "The port on which to serve HTTPS with authentication and authorization. 0 takes a free one."
	if !o.TransientKeys {
		fss.FlagSet("secure serving").Lookup("cert-dir").Usage = "The folder where the server's authority, its serving certificate and the key of service account tokens are kept, across restarts. Several servers of one etcd can share it. By default, pki in --data-dir."
	}
	mustName(fss.FlagSet("etcd"), "etcd-servers", "an etcd server, for example http://127.0.0.1:2379")
	mustName(fss.FlagSet(OwnFlags), "data-dir", "a folder: leave the flag out, and the data is gone at exit")
}

// mustName makes a flag refuse an empty value. A script with an unset variable can give an empty value by mistake, and
// without a data folder, the server would lose its data.
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

// addAggregatedFlags adds the flags of a server behind a cluster. Some of them set options of a server that stands alone,
// too, so they come after the flags of all other sections.
func (o *Options) addAggregatedFlags(fss *flag.NamedFlagSets) {
	if o.Behind == nil {
		return
	}
	o.Behind.AddOwnFlags(fss.FlagSet(OwnFlags))
	o.Registration.AddFlags(fss.FlagSet(OwnFlags))
	o.Behind.AddFlags(fss.FlagSet("aggregated"), func(name string) *pflag.Flag {
		for _, section := range fss.FlagSets {
			if f := section.Lookup(name); f != nil {
				return f
			}
		}
		return nil
	})
}

// addFeatureFlags adds the flags of FeatureOptions, except for the flag of priority and fairness: see NewOptions.
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
	fs.StringSliceVar((*[]string)(&o.Controllers), "controllers", o.Controllers, fmt.Sprintf("The `CONTROLLERS` that run in the server: NAME for one, -NAME for all but one, and nothing for none. They are %s.", controllers.Choices()))
	fs.StringArrayVar(&o.Load, "load", o.Load, "Store the objects of this `PATH` as they are, with their uids, status, owner references and times, before the server is ready: a file, a folder or a glob with what \"kubectl get -o yaml\" has written. May be repeated.")
	fs.StringVar(&o.DataDir, "data-dir", o.DataDir, "Keep the data and the server's keys in this folder `DIR`, across restarts. Without it, and without --etcd-servers, the data is gone at exit.")
}

func (o *Options) addMiscFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ServiceClusterIPRange, "service-cluster-ip-range", o.ServiceClusterIPRange, "A CIDR notation IP range from which to assign service cluster IPs; two of them, separated by a comma, for dual stack.")
	fs.Var(&o.ServiceNodePortRange, "service-node-port-range", "A port range to reserve for services with NodePort visibility, inclusive at both ends.")
	fs.DurationVar(&o.EventTTL, "event-ttl", o.EventTTL, "Amount of time to retain events.")
	fs.BoolVar(&o.AllowPrivileged, "allow-privileged", o.AllowPrivileged, "If true, allow privileged containers.")
	fs.StringVar(&o.EndpointReconcilerType, "endpoint-reconciler-type", o.EndpointReconcilerType, "How the endpoints of the service \"kubernetes\" are written: lease (the addresses of all live servers of an external etcd), master-count (the address of this server alone) or none.")
	fs.StringVar(&o.ProxyClientCertFile, "proxy-client-cert-file", o.ProxyClientCertFile, "Client certificate that proves to the servers of aggregated APIs (APIService) that this server may name the user of a request. Without it, and without --requestheader-client-ca-file, the server makes one, and publishes its authority in ConfigMap kube-system/extension-apiserver-authentication; with --etcd-servers, this needs --cert-dir.")
	fs.StringVar(&o.ProxyClientKeyFile, "proxy-client-key-file", o.ProxyClientKeyFile, "Private key for --proxy-client-cert-file.")
	fs.BoolVar(&o.RejectForwardingRedirects, "aggregator-reject-forwarding-redirect", o.RejectForwardingRedirects, "Refuse the redirects of aggregated API servers, instead of passing them on to clients.")
	fs.BoolVar(&o.EnableAggregatorRouting, "enable-aggregator-routing", o.EnableAggregatorRouting, "Route requests to the endpoints of a service rather than to its cluster IP. miniapi always does.")
	fs.StringVar(&o.Kubelet.CAFile, "kubelet-certificate-authority", o.Kubelet.CAFile, "Path to a cert file for the certificate authority of kubelets. Without it, their certificates aren't verified.")
	fs.StringVar(&o.Kubelet.CertFile, "kubelet-client-certificate", o.Kubelet.CertFile, "Path to a client cert file for TLS to kubelets.")
	fs.StringVar(&o.Kubelet.KeyFile, "kubelet-client-key", o.Kubelet.KeyFile, "Path to a client key file for TLS to kubelets.")
	fs.StringSliceVar(&o.Kubelet.PreferredAddressTypes, "kubelet-preferred-address-types", o.Kubelet.PreferredAddressTypes, "The node address types to use for kubelet connections, the preferred one first.")
}

// validate checks the flags of addMiscFlags and addOwnFlags, except for the range of cluster IPs and the controllers.
func (o *Options) validate() []error {
	errs := []error{
		files.Pair("proxy-client-cert-file", o.ProxyClientCertFile, "proxy-client-key-file", o.ProxyClientKeyFile),
		files.Pair("kubelet-client-certificate", o.Kubelet.CertFile, "kubelet-client-key", o.Kubelet.KeyFile),
		files.Authorities("kubelet-certificate-authority", o.Kubelet.CAFile),
	}
	if o.EventTTL <= 0 {
		errs = append(errs, fmt.Errorf("--event-ttl %s: must be more than 0", o.EventTTL))
	}
	if o.ServiceNodePortRange.Size < 1 {
		errs = append(errs, fmt.Errorf("--service-node-port-range %q: must hold at least one port, as 30000-32767 does", o.ServiceNodePortRange.String()))
	}
	switch o.EndpointReconcilerType {
	case "lease", "master-count", "none":
	default:
		errs = append(errs, fmt.Errorf("--endpoint-reconciler-type %q: must be lease, master-count or none", o.EndpointReconcilerType))
	}
	return errs
}

// minServiceBits is the number of address bits of the smallest range of service addresses that kube-apiserver accepts.
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

// table returns the table of kinds, which is the table of the built-in kinds if the options have none.
func (o *Options) table() *registry.Table {
	if o.Table == nil {
		return builtin.Table()
	}
	return o.Table
}

// Run runs a server with the options until ctx ends, and calls ready when the server is ready. It takes the steps
// Complete, Config, New and Run, for a program that needs nothing between them.
func (o *Options) Run(ctx context.Context, ready func(*Server)) error {
	completed, err := o.Complete()
	if err != nil {
		return err
	}
	config, err := completed.Config(ctx)
	if err != nil {
		return err
	}
	s, err := config.New(ctx)
	if err != nil {
		return err
	}
	stopped := make(chan struct{})
	defer close(stopped)
	go func() {
		select {
		case <-s.Ready():
			ready(s)
		case <-stopped:
		}
	}()
	return s.Run(ctx)
}

// EmulateVersion makes the server behave as a version of Kubernetes, such as 1.35, as --emulated-version does.
func (o *Options) EmulateVersion(minor string) error { return o.globals.Emulate(minor) }

// HasFeatureGate reports whether a feature gate exists in the newest version of Kubernetes.
func (o *Options) HasFeatureGate(name string) bool { return o.globals.Has(featuregate.Feature(name)) }

// ReadsFeatureGate reports whether the server reads a feature gate. It doesn't read the gates of other components of
// Kubernetes, and of parts of kube-apiserver that miniapi lacks.
func (o *Options) ReadsFeatureGate(name string) bool {
	gate := featuregate.Feature(name)
	return o.globals.OfLibraries(gate) || o.table().Reads(gate) || slices.Contains(readGates, gate)
}

// readGates are feature gates of kube-apiserver that the server reads, besides those of rows in the table of kinds.
var readGates = []featuregate.Feature{
	autoscaling.ScaleToZero, noderestriction.AudienceGate, podtopologylabels.Gate, validation.StrictAddresses, validation.RelaxedServiceNames,
}

// AddMetrics records the chosen gates and versions in the metrics of the process. Call it only in a program that runs
// one server.
func (o *Options) AddMetrics() { o.globals.AddMetrics() }

// KeptAuthority returns the certificate authority that is stored in the folder for keys, for a program that issues
// certificates without a server. If no authority is stored, KeptAuthority makes the folder and the authority. It
// returns an error if the options name no folder for keys.
func (o *Options) KeptAuthority() (*pki.Authority, error) { return o.ownKeys().Kept() }

// servingKeys returns the store of the serving certificate.
func (o *Options) servingKeys() keys.Store {
	return keys.StoreOf(o.Serving.ServerCert.CertDirectory, o.DataDir)
}

// ownKeys returns the store of the keys that kube-apiserver doesn't make: see TransientKeys.
func (o *Options) ownKeys() keys.Store {
	if o.TransientKeys {
		return keys.Store{}
	}
	return o.servingKeys()
}
