package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/serviceaccount"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/server/apis"
	"github.com/miniapi-dev/miniapi/pkg/server/audit"
	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

// CompletedOptions are checked options. The method Config builds a Config from them.
type CompletedOptions struct{ *completedOptions }

type completedOptions struct {
	Options
	// enabled are the resources that the server serves.
	enabled      *serverstorage.ResourceConfig
	serviceRange []*net.IPNet
	// etcdLocations are the etcd servers of the resources that --etcd-servers-overrides names.
	etcdLocations map[schema.GroupResource][]string
	// captured are the objects of Load.
	captured []manifests.Object
	warnings []string
}

// Complete checks the options, and sets missing options. One error can report several wrong options.
func (o *Options) Complete() (_ CompletedOptions, err error) {
	// Choose must come before the first use of a feature gate.
	if err := o.globals.Choose(o.FeatureGates); err != nil {
		return CompletedOptions{}, fmt.Errorf("--feature-gates, --emulated-version or --min-compatibility-version: %w", err)
	}
	leave, err := o.globals.Enter()
	if err != nil {
		return CompletedOptions{}, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	completed := &completedOptions{Options: *o}
	completed.Table = o.table()
	if o.Behind.Enabled() {
		o.Behind.Complete()
		completed.Controllers, completed.Components = nil, nil // the cluster runs them
	}
	errs := slices.DeleteFunc(validateAll(o), func(err error) bool { return err == nil })
	if completed.serviceRange, err = parseServiceRange(o.ServiceClusterIPRange); err != nil {
		errs = append(errs, err)
	}
	if completed.etcdLocations, err = etcd.Locations(o.Etcd, completed.Table); err != nil {
		errs = append(errs, err)
	}
	resources := apis.Config{
		Table: completed.Table, Behind: o.Behind.Enabled(), Versions: o.globals.Versions(), Gates: o.globals.Gates(), RuntimeConfig: o.APIs.RuntimeConfig,
		ForwardCompatible:              o.ServerRun.EmulationForwardCompatible,
		RuntimeConfigForwardCompatible: o.ServerRun.RuntimeConfigEmulationForwardCompatible,
	}
	if completed.enabled, err = resources.Enabled(); err != nil {
		errs = append(errs, err)
	}
	if completed.captured, err = manifests.Load(o.Load...); err != nil {
		errs = append(errs, fmt.Errorf("--load: %w", err))
	}
	if len(errs) > 0 {
		return CompletedOptions{}, utilerrors.NewAggregate(errs)
	}
	if err := o.ServerRun.Complete(); err != nil {
		return CompletedOptions{}, err
	}
	completed.Admission = completed.plugins()
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

// plugins returns the options of admission with the plugins that depend on other options. It turns the plugin
// ServiceAccount on if the controller of service accounts runs, because the plugin needs the accounts that the controller
// makes. It turns the plugin NamespaceLifecycle off if there are no namespaces. Behind a cluster, it turns off the plugins
// that aggregated API servers lack. A plugin that the options name stays as they say, and if they list all plugins that are
// on, the list stays unchanged.
func (o *completedOptions) plugins() *admission.Options {
	plugins := *o.Admission
	if len(plugins.Only) > 0 {
		return &plugins
	}
	if o.Behind.Enabled() {
		return plugins.Delegated()
	}
	if o.Controllers.Has("serviceaccount-controller") && !slices.Contains(plugins.Disable, serviceaccount.Name) {
		plugins.Enable = append(slices.Clone(plugins.Enable), serviceaccount.Name)
	}
	if !o.isCluster() && !slices.Contains(plugins.Enable, lifecycle.PluginName) {
		plugins.Disable = append(slices.Clone(plugins.Disable), lifecycle.PluginName)
	}
	return &plugins
}

// isCluster reports whether the server has the objects that every cluster has. A server behind a cluster, and one whose
// table has no namespaces, don't have them.
func (o *completedOptions) isCluster() bool {
	return !o.Behind.Enabled() && o.enabled.ResourceEnabled(corev1.SchemeGroupVersion.WithResource("namespaces"))
}

// runsControllers reports whether controllers or other components of a cluster run in the server.
func (o *completedOptions) runsControllers() bool {
	return o.Controllers.Any() || len(o.Components) > 0
}

// Warnings returns warnings about options whose effect differs from the effect in kube-apiserver, or from the effect
// that a user expects.
func (o CompletedOptions) Warnings() []string { return o.warnings }

// validateAll checks the flags of the server and of its packages.
func validateAll(o *Options) []error {
	errs := slices.Concat(
		reworded(o.ServerRun.Validate()), validateServing(o.Serving), o.Audit.Validate(), o.Features.Validate(),
		o.Controllers.Validate(), validateRequests(o.ServerRun), validateEtcd(o), o.validate(), validatePeers(o), validateFiles(o),
		o.Behind.Validate(), o.Registration.Validate(o.Behind.Enabled()),
	)
	for _, part := range o.parts() {
		errs = append(errs, part.options.Validate()...)
	}
	return errs
}

// wordings replaces words in errors of the Kubernetes libraries. These words don't name the flag, or are wrong for this
// server.
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

// validateRequests refuses a --request-timeout of 0, which ServerRunOptions.Validate accepts.
func validateRequests(o *genericoptions.ServerRunOptions) []error {
	if o.RequestTimeout == 0 { // ServerRunOptions.Validate refuses negative values
		return []error{errors.New("--request-timeout 0s: must be more than 0: otherwise no request is answered, not even the server's own")}
	}
	return nil
}

// validateEtcd checks the options of etcd and of storage. EtcdOptions.Validate requires an etcd server. For an embedded
// etcd, validateEtcd adds the name "embedded" as a server.
func validateEtcd(o *Options) []error {
	checked := *o.Etcd
	embedded := etcd.IsEmbedded(&checked)
	if embedded {
		checked.StorageConfig.Transport.ServerList = []string{"embedded"}
	}
	errs := checked.Validate()
	if !embedded && o.DataDir != "" {
		errs = append(errs, fmt.Errorf("--data-dir %s: can't be given together with --etcd-servers, because only an embedded etcd keeps its data in this folder: leave one of the flags out", o.DataDir))
	}
	if !embedded && len(o.Load) > 0 {
		errs = append(errs, fmt.Errorf("--load %s: can't be given together with --etcd-servers, because the server stores captured objects in an embedded etcd alone: leave one of the flags out", o.Load[0]))
	}
	if _, err := genericoptions.ParseWatchCacheSizes(checked.WatchCacheSizes); err != nil {
		errs = append(errs, fmt.Errorf("--watch-cache-sizes: %w", err))
	}
	return errs
}

// validateFiles checks the files that flags name. The server reads the files again later, but the errors of the later
// reads don't name the flag.
func validateFiles(o *Options) []error {
	serving, transport := o.Serving.ServerCert.CertKey, o.Etcd.StorageConfig.Transport
	errs := []error{
		files.Pair("tls-cert-file", serving.CertFile, "tls-private-key-file", serving.KeyFile),
		files.Pair("etcd-certfile", transport.CertFile, "etcd-keyfile", transport.KeyFile),
		files.Authorities("etcd-cafile", transport.TrustedCAFile),
		checkTracing(o.Tracing),
		etcd.CheckEncryption(o.Etcd),
	}
	for _, pair := range o.Serving.SNICertKeys {
		if _, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile); err != nil {
			errs = append(errs, fmt.Errorf("--tls-sni-cert-key %s,%s: %w", pair.CertFile, pair.KeyFile, err))
		}
	}
	return slices.Concat(errs, audit.ValidateFiles(o.Audit), o.Authentication.ValidateFiles(), o.Authorization.ValidateFiles())
}

// validatePeers checks the flags of peers against the other flags.
func validatePeers(o *Options) []error {
	var errs []error
	if o.Peers.Enabled() && etcd.IsEmbedded(o.Etcd) {
		errs = append(errs, errors.New("--peer-ca-file, --peer-advertise-ip or --peer-advertise-port: can't be given without --etcd-servers: peers share an etcd, and only one server can use an embedded etcd"))
	}
	if o.Peers.CAFile != "" && o.ProxyClientCertFile == "" {
		errs = append(errs, fmt.Errorf("--peer-ca-file %s: must be given together with --proxy-client-cert-file and --proxy-client-key-file, which prove to the other servers that this server may name the client of a request", o.Peers.CAFile))
	}
	// The server's own certificate may be the authority of its peers. The server makes the certificate at its start, so
	// the file may not exist yet.
	if filepath.Dir(o.Peers.CAFile) != filepath.Clean(o.Serving.ServerCert.CertDirectory) {
		errs = append(errs, files.Authorities("peer-ca-file", o.Peers.CAFile))
	}
	return errs
}

// validateServing checks the serving options. k8s.io/apiserver would report some of these errors only after the port is
// open.
func validateServing(o *genericoptions.SecureServingOptions) []error {
	errs := reworded(o.Validate())
	if _, err := flag.TLSVersion(o.MinTLSVersion); err != nil {
		errs = append(errs, fmt.Errorf("--tls-min-version %s: must be one of %v: %w", o.MinTLSVersion, flag.TLSPossibleVersions(), err))
	}
	if _, err := flag.TLSCipherSuites(o.CipherSuites); err != nil {
		errs = append(errs, fmt.Errorf("--tls-cipher-suites: %w", err))
	}
	if _, err := flag.TLSCurvePreferences(o.CurvePreferences); err != nil {
		errs = append(errs, fmt.Errorf("--tls-curve-preferences: %w", err))
	}
	return errs
}

func checkTracing(o *genericoptions.TracingOptions) error {
	if o == nil || o.ConfigFile == "" {
		return nil
	}
	if _, err := genericoptions.ReadTracingConfiguration(o.ConfigFile); err != nil {
		return fmt.Errorf("--tracing-config-file %s: %w", o.ConfigFile, err)
	}
	return nil
}
