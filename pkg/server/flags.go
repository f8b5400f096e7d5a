package server

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/controllers"
)

// OwnFlags is the section of the flags that kube-apiserver doesn't have.
const OwnFlags = "miniapi's own"

// AddFlags adds the flags by section.
func (o *Options) AddFlags(fss *flag.NamedFlagSets) {
	o.addOwnFlags(fss.FlagSet(OwnFlags))
	o.Admission.AddOwnFlags(fss.FlagSet(OwnFlags))
	o.Decisions.AddFlags(fss.FlagSet(OwnFlags))
	o.Faults.AddFlags(fss.FlagSet(OwnFlags))
	o.RuntimeHooks.AddFlags(fss.FlagSet(OwnFlags))
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
	// kube-apiserver's help says that 0 means that nothing is served, but this server takes a free port.
	fss.FlagSet("secure serving").Lookup("secure-port").Usage = "The port on which to serve HTTPS with authentication and authorization. 0 takes a free one."
	gates := fss.FlagSet("generic").Lookup("feature-gates")
	gates.Usage = ownDefaultOfGate(gates.Usage, admission.ExcludeReviewsGate)
	if !o.TransientKeys {
		fss.FlagSet("secure serving").Lookup("cert-dir").Usage = "The folder where the server's authority, its serving certificate and the key of service account tokens are kept, across restarts. Several servers of one etcd can share it. By default, pki in --data-dir."
	}
	mustName(fss.FlagSet("etcd"), "etcd-servers", "an etcd server, for example http://127.0.0.1:2379")
	mustName(fss.FlagSet(OwnFlags), "data-dir", "a folder: leave the flag out, and the data is gone at exit")
}

// ownDefaultOfGate changes the default of a feature gate in the help of --feature-gates to false. The library reads the
// default from the gate, which is on. But the gate has an effect only if the user sets it.
func ownDefaultOfGate(usage, gate string) string {
	return regexp.MustCompile(`(`+gate+`=true\|false \([^)]*default=)true`).ReplaceAllString(usage, "${1}false")
}

// mustName makes a flag refuse an empty value, such as that of an unset variable in a script: without a data folder,
// the server would lose its data.
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

// addFeatureFlags adds the library's flags of features, except for the flag of priority and fairness: see NewOptions.
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
	fs.StringSliceVar((*[]string)(&o.Controllers), "controllers", o.Controllers, fmt.Sprintf("The `controllers` that run in the server: * for all, NAME for one, -NAME for all but one, and nothing for none. They are %s.", strings.Join(controllers.Names(), ", ")))
	fs.StringVar(&o.DataDir, "data-dir", o.DataDir, "Keep the data and the server's keys in this `folder`, across restarts. Without it, and without --etcd-servers, the data is gone at exit.")
}

func (o *Options) addMiscFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ServiceClusterIPRange, "service-cluster-ip-range", o.ServiceClusterIPRange, "A CIDR notation IP range from which to assign service cluster IPs; two of them, separated by a comma, for dual stack.")
	fs.Var(&o.ServiceNodePortRange, "service-node-port-range", "A port range to reserve for services with NodePort visibility, inclusive at both ends.")
	fs.DurationVar(&o.EventTTL, "event-ttl", o.EventTTL, "Amount of time to retain events.")
	fs.BoolVar(&o.AllowPrivileged, "allow-privileged", o.AllowPrivileged, "If true, allow privileged containers.")
	fs.StringVar(&o.EndpointReconcilerType, "endpoint-reconciler-type", o.EndpointReconcilerType, "Whether the endpoints of the service \"kubernetes\" are written: lease, master-count or none.")
	fs.StringVar(&o.ProxyClientCertFile, "proxy-client-cert-file", o.ProxyClientCertFile, "Client certificate that proves to the servers of aggregated APIs (APIService) that this server may name the user of a request. Without it, and without --requestheader-client-ca-file, the server makes one, and publishes its authority in ConfigMap kube-system/extension-apiserver-authentication.")
	fs.StringVar(&o.ProxyClientKeyFile, "proxy-client-key-file", o.ProxyClientKeyFile, "Private key for --proxy-client-cert-file.")
	o.Peers.AddFlags(fs)
	fs.BoolVar(&o.RejectForwardingRedirects, "aggregator-reject-forwarding-redirect", o.RejectForwardingRedirects, "Refuse the redirects of aggregated API servers, instead of passing them on to clients.")
	fs.BoolVar(&o.EnableAggregatorRouting, "enable-aggregator-routing", o.EnableAggregatorRouting, "Route requests to the endpoints of a service rather than to its cluster IP. miniapi always does.")
	fs.StringVar(&o.Kubelet.CAFile, "kubelet-certificate-authority", o.Kubelet.CAFile, "Path to a cert file for the certificate authority of kubelets. Without it, their certificates aren't verified.")
	fs.StringVar(&o.Kubelet.CertFile, "kubelet-client-certificate", o.Kubelet.CertFile, "Path to a client cert file for TLS to kubelets.")
	fs.StringVar(&o.Kubelet.KeyFile, "kubelet-client-key", o.Kubelet.KeyFile, "Path to a client key file for TLS to kubelets.")
	fs.StringSliceVar(&o.Kubelet.PreferredAddressTypes, "kubelet-preferred-address-types", o.Kubelet.PreferredAddressTypes, "The node address types to use for kubelet connections, the preferred one first.")
}
