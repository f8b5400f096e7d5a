package hookcalls

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extensionconfig"
)

// Options configure the runtime hooks of a server.
type Options struct {
	// Enabled turns runtime hooks on: ExtensionConfigs are served, and hooks can be called.
	Enabled bool
	// Period is the time after which the server calls Discovery of a discovered extension again.
	Period time.Duration
	// CertFile and KeyFile are the client certificate for extensions, and its key.
	CertFile, KeyFile string
	// AddToCatalog adds the known hooks to a catalog. By default, these are the hooks of Cluster API.
	AddToCatalog []func(*catalog.Catalog) error
}

// NewOptions returns options with runtime hooks off.
func NewOptions() *Options {
	return &Options{Period: extensionconfig.DefaultPeriod, AddToCatalog: []func(*catalog.Catalog) error{clusterapi.AddToCatalog}}
}

// AddFlags adds the flags. kube-apiserver has none of them.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Enabled, "runtime-hooks", o.Enabled, "Serve ExtensionConfigs (runtime.cluster.x-k8s.io), discover their extensions, and call runtime hooks.")
	fs.DurationVar(&o.Period, "runtime-hooks-period", o.Period, "The `DURATION` until an extension that was discovered is asked for its handlers again.")
	fs.StringVar(&o.CertFile, "runtime-extension-client-cert-file", o.CertFile, "The `FILE` with the client certificate that extensions are shown. Each call uses the file as it is then.")
	fs.StringVar(&o.KeyFile, "runtime-extension-client-key-file", o.KeyFile, "The `FILE` with the key of --runtime-extension-client-cert-file.")
}

// Validate returns the errors of the options. Each error names its flag.
func (o *Options) Validate() []error {
	var errs []error
	if o.Period <= 0 {
		errs = append(errs, fmt.Errorf("--runtime-hooks-period %s: must be more than 0", o.Period))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		errs = append(errs, fmt.Errorf("--runtime-extension-client-cert-file %q and --runtime-extension-client-key-file %q: must be given together", o.CertFile, o.KeyFile))
	}
	if !o.Enabled && o.CertFile != "" {
		errs = append(errs, fmt.Errorf("--runtime-extension-client-cert-file %s: must be given together with --runtime-hooks, because otherwise the server calls no extension", o.CertFile))
	}
	return errs
}
