package server

import (
	"fmt"
	"regexp"

	"github.com/spf13/pflag"
	"k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/pkg/admission"
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
	// The library's help about port 0 is wrong for this server: with 0, the server takes a free port.
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
