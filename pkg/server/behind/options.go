// Package behind lets a server run behind a cluster, as an aggregated API server does: the cluster authenticates and
// authorizes the requests, and has the namespaces, the webhook configurations and the policies of admission.
//
// [Options] have the settings, and [Options.Cluster] is the way in. Don't use the package for the other side, a server in
// front of aggregated ones: packages aggregation and frontproxy are for that.
package behind

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// InCluster stands for a kubeconfig, in a server that runs in a pod of the cluster.
const InCluster = "in-cluster"

// Options are the settings of a server behind a cluster.
type Options struct {
	// Kubeconfig is the path of the cluster's kubeconfig, or InCluster. If it is empty, the server isn't behind a
	// cluster. The options below can name other kubeconfigs for single duties.
	Kubeconfig     string
	Authentication *genericoptions.DelegatingAuthenticationOptions
	Authorization  *genericoptions.DelegatingAuthorizationOptions
	CoreAPI        *genericoptions.CoreAPIOptions
}

// NewOptions returns the defaults of k8s.io/apiserver for aggregated API servers, without a kubeconfig.
func NewOptions() *Options {
	return &Options{
		Authentication: genericoptions.NewDelegatingAuthenticationOptions(),
		Authorization:  genericoptions.NewDelegatingAuthorizationOptions(),
		CoreAPI:        genericoptions.NewCoreAPIOptions(),
	}
}

// Enabled reports whether the server runs behind a cluster. A nil Options is allowed.
func (o *Options) Enabled() bool { return o != nil && o.Kubeconfig != "" }

// AddOwnFlags adds the flag that other aggregated API servers don't have.
func (o *Options) AddOwnFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "behind", o.Kubeconfig, "Run behind the cluster of this `KUBECONFIG`, as an aggregated API server: the cluster authenticates and authorizes requests, and has the namespaces, webhooks and policies. "+InCluster+" stands for the pod's service account.")
}

// placeholders adds the placeholders of values to the help of k8s.io/apiserver's flags.
var placeholders = strings.NewReplacer("kubeconfig file", "kubeconfig `FILE`", "HTTP paths", "HTTP `PATHS`")

// AddFlags adds the flags of aggregated API servers. The function known returns the server's flag of a name, or nil: a
// flag that the server has for itself too sets both.
func (o *Options) AddFlags(fs *pflag.FlagSet, known func(name string) *pflag.Flag) {
	all := pflag.NewFlagSet("behind", pflag.ContinueOnError)
	o.Authentication.AddFlags(all)
	o.Authorization.AddFlags(all)
	o.CoreAPI.AddFlags(all)
	all.VisitAll(func(f *pflag.Flag) {
		if own := known(f.Name); own != nil {
			own.Value = both{own.Value, f.Value}
			return
		}
		f.Usage = placeholders.Replace(f.Usage)
		if f.Value.Type() == "string" {
			f.Usage += " By default, it is the kubeconfig of --behind."
		}
		fs.AddFlag(f)
	})
}

// both sets two values.
type both struct {
	pflag.Value
	also pflag.Value
}

// Set implements pflag.Value.
func (b both) Set(value string) error {
	if err := b.Value.Set(value); err != nil {
		return err
	}
	return b.also.Set(value)
}

// duty is a kubeconfig, and the flag that names it.
type duty struct {
	flag string
	file *string
}

// duties returns the kubeconfigs of single duties.
func (o *Options) duties() []duty {
	return []duty{
		{"kubeconfig", &o.CoreAPI.CoreAPIKubeconfigPath},
		{"authentication-kubeconfig", &o.Authentication.RemoteKubeConfigFile},
		{"authorization-kubeconfig", &o.Authorization.RemoteKubeConfigFile},
	}
}

// Complete makes Kubeconfig the kubeconfig of all duties that have none.
func (o *Options) Complete() {
	if !o.Enabled() || o.Kubeconfig == InCluster {
		return // without a file, k8s.io/apiserver takes the service account of the pod
	}
	for _, d := range o.duties() {
		if *d.file == "" {
			*d.file = o.Kubeconfig
		}
	}
}

// Validate returns the errors of the options. Each error names its flag.
func (o *Options) Validate() []error {
	if o == nil {
		return nil
	}
	var errs []error
	for _, d := range append([]duty{{"behind", &o.Kubeconfig}}, o.duties()...) {
		switch {
		case *d.file == "":
		case !o.Enabled():
			errs = append(errs, fmt.Errorf("--%s %s: must be given together with --behind, which makes the server an aggregated one", d.flag, *d.file))
		default:
			if _, err := load(*d.file); err != nil {
				errs = append(errs, fmt.Errorf("--%s %s: %w", d.flag, *d.file, err))
			}
		}
	}
	if !o.Enabled() {
		return errs
	}
	return append(append(errs, o.Authentication.Validate()...), o.Authorization.Validate()...)
}

// load reads a kubeconfig.
func load(file string) (*rest.Config, error) {
	if file == InCluster {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("the process doesn't run in a pod with a service account: name a kubeconfig instead")
		}
		return config, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, fmt.Errorf("must be a kubeconfig with the cluster and a user: %w", err)
	}
	return config, nil
}
