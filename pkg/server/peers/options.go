package peers

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	netutils "k8s.io/utils/net"
)

// Options are kube-apiserver's flags about peers. A server without any of these flags has no peers.
type Options struct {
	// CAFile has the authorities of the peers' serving certificates. These certificates must be valid for
	// kubernetes.default.svc. A server without CAFile accepts requests from peers, but passes no request on to them.
	CAFile string
	// AdvertiseIP and AdvertisePort are the address at which peers reach this server. By default, it is the address
	// that the server advertises to clients.
	AdvertiseIP, AdvertisePort string
}

// NewOptions returns the defaults: no peers.
func NewOptions() *Options { return &Options{} }

// AddFlags adds the flags, under kube-apiserver's names.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.CAFile, "peer-ca-file", o.CAFile, "Certificates of the authorities by which the other servers of the same external etcd serve. With it, requests for resources that this server lacks go to a server that has them, and discovery lists the resources of all. Needs --proxy-client-cert-file.")
	fs.StringVar(&o.AdvertiseIP, "peer-advertise-ip", o.AdvertiseIP, "The IP address at which the other servers of the same external etcd reach this one, together with --peer-advertise-port. Without it, it is --advertise-address, or else where the server is bound to.")
	fs.StringVar(&o.AdvertisePort, "peer-advertise-port", o.AdvertisePort, "The port of --peer-advertise-ip.")
}

// Enabled tells whether the server has peers.
func (o *Options) Enabled() bool {
	return o.CAFile != "" || o.AdvertiseIP != "" || o.AdvertisePort != ""
}

// Validate checks the options without reading files.
func (o *Options) Validate() []error {
	var errs []error
	if !o.Enabled() {
		return nil
	}
	for _, flag := range []struct{ name, value string }{
		{"peer-ca-file", o.CAFile}, {"peer-advertise-ip", o.AdvertiseIP}, {"peer-advertise-port", o.AdvertisePort},
	} {
		if flag.value != "" && !utilfeature.DefaultFeatureGate.Enabled(features.UnknownVersionInteroperabilityProxy) {
			errs = append(errs, fmt.Errorf("--%s %s: must be given together with --feature-gates=%s=true", flag.name, flag.value, features.UnknownVersionInteroperabilityProxy))
		}
	}
	if !utilfeature.DefaultFeatureGate.Enabled(features.APIServerIdentity) {
		errs = append(errs, fmt.Errorf("--peer-ca-file, --peer-advertise-ip or --peer-advertise-port: must be given together with --feature-gates=%s=true", features.APIServerIdentity))
	}
	if (o.AdvertiseIP == "") != (o.AdvertisePort == "") {
		errs = append(errs, fmt.Errorf("--peer-advertise-ip %q and --peer-advertise-port %q: must be given together", o.AdvertiseIP, o.AdvertisePort))
	}
	if o.AdvertiseIP != "" && netutils.ParseIPSloppy(o.AdvertiseIP) == nil {
		errs = append(errs, fmt.Errorf("--peer-advertise-ip %s: must be an IP address", o.AdvertiseIP))
	}
	if port, err := strconv.ParseUint(o.AdvertisePort, 10, 16); o.AdvertisePort != "" && (err != nil || port == 0) {
		errs = append(errs, fmt.Errorf("--peer-advertise-port %s: must be a port between 1 and 65535", o.AdvertisePort))
	}
	return errs
}
