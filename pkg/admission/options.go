package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/features"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/defaulttolerationseconds"
)

// Options choose the plugins of the chain and configure them.
type Options struct {
	// Enable and Disable change which plugins run, from what is on by default.
	Enable, Disable []string
	// Only, if set, lists all plugins that run. It excludes Enable and Disable.
	Only []string
	// ConfigFile is the path of an AdmissionConfiguration, which configures plugins one by one.
	ConfigFile string
	// ExcludeReviews keeps webhooks away from reviews of who somebody is and what they may do, as policies
	// are. It is what the feature gate [ExcludeReviewsGate] says when it is set.
	ExcludeReviews bool
	// AnyNodeAudience has plugin NodeRestriction allow tokens for audiences that a node's pods don't need
	// (KEP-4412), as feature gate ServiceAccountNodeAudienceRestriction does when it is off.
	AnyNodeAudience bool
	// Services says where services are that webhooks name, whatever the API says of them.
	Services ServiceAddresses

	// NotReadyTolerationSeconds and UnreachableTolerationSeconds are for how long pods tolerate a node
	// in that condition, unless they say something else.
	NotReadyTolerationSeconds, UnreachableTolerationSeconds int64
}

// ExcludeReviewsGate is the feature gate that counts for [Options.ExcludeReviews] alone if somebody sets it:
// on by default since 1.37, it would take from webhooks what they were always sent.
const ExcludeReviewsGate = string(features.ExcludeAdmissionWebhookVirtualResources)

// SetGate sets the option that a feature gate stands for, if there is one. It says whether the gate means
// nothing else: a gate of a library must be set in the process as well.
func (o *Options) SetGate(name string, on bool) (ours bool) {
	switch name {
	case ExcludeReviewsGate:
		o.ExcludeReviews = on
	case "ServiceAccountNodeAudienceRestriction":
		o.AnyNodeAudience = !on
		return true
	}
	return false
}

// NewOptions returns the options that kube-apiserver has by default.
func NewOptions() *Options {
	return &Options{
		Services:                     ServiceAddresses{},
		NotReadyTolerationSeconds:    defaulttolerationseconds.DefaultSeconds,
		UnreachableTolerationSeconds: defaulttolerationseconds.DefaultSeconds,
	}
}

// AddFlags adds the flags that set the options, under kube-apiserver's names where it has them.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	names := fmt.Sprintf("(%s). Comma-delimited list of admission plugins: %s. The order of plugins in this flag does not matter.",
		strings.Join(pluginNames(func(p plugin) bool { return p.on }), ", "), strings.Join(slices.Sorted(slices.Values(pluginNames(nil))), ", "))
	flags.StringSliceVar(&o.Enable, "enable-admission-plugins", o.Enable,
		"admission plugins that should be enabled in addition to default enabled ones "+names)
	flags.StringSliceVar(&o.Disable, "disable-admission-plugins", o.Disable,
		"admission plugins that should be disabled although they are in the default enabled plugins list "+names)
	flags.StringSliceVar(&o.Only, "admission-control", o.Only,
		"all admission plugins that run, as a comma-delimited list; excludes the two flags above")
	// The flag is in the flag set that was passed, under this name: the error can't occur.
	_ = flags.MarkDeprecated("admission-control", "Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.")
	flags.StringVar(&o.ConfigFile, "admission-control-config-file", o.ConfigFile,
		"File with admission control configuration.")
	flags.Int64Var(&o.NotReadyTolerationSeconds, "default-not-ready-toleration-seconds", o.NotReadyTolerationSeconds,
		"Indicates the tolerationSeconds of the toleration for notReady:NoExecute that is added by default to every pod that does not already have such a toleration.")
	flags.Int64Var(&o.UnreachableTolerationSeconds, "default-unreachable-toleration-seconds", o.UnreachableTolerationSeconds,
		"Indicates the tolerationSeconds of the toleration for unreachable:NoExecute that is added by default to every pod that does not already have such a toleration.")
}

// AddOwnFlags adds the flags that kube-apiserver doesn't have.
func (o *Options) AddOwnFlags(flags *pflag.FlagSet) {
	flags.Var(o.Services, "webhook-service",
		"Call the webhooks of a service at an address, whatever the API says of it: `service=address`, in the form NAMESPACE/NAME[:PORT]=HOST:PORT. The webhook's certificate must be of NAME.NAMESPACE.svc, and of the caBundle or, without one, of this server's own authority. May be repeated.")
}

// Validate returns what is wrong with the options, each error naming its flag.
func (o *Options) Validate() []error {
	var errs []error
	known := pluginNames(nil)
	for _, list := range []struct {
		flag  string
		names []string
	}{
		{"enable-admission-plugins", o.Enable},
		{"disable-admission-plugins", o.Disable},
		{"admission-control", o.Only},
	} {
		for _, name := range list.names {
			if !slices.Contains(known, name) {
				errs = append(errs, fmt.Errorf("--%s: plugin %q is unknown; known are %s", list.flag, name, strings.Join(known, ", ")))
			}
		}
	}
	for _, name := range o.Enable {
		if slices.Contains(o.Disable, name) {
			errs = append(errs, fmt.Errorf("--enable-admission-plugins and --disable-admission-plugins: plugin %q is in both", name))
		}
	}
	if len(o.Only) > 0 && len(o.Enable)+len(o.Disable) > 0 {
		errs = append(errs, errors.New("--admission-control excludes --enable-admission-plugins and --disable-admission-plugins"))
	}
	if _, err := readConfiguration(o.ConfigFile); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// Warnings returns what was asked for and will not happen: plugins of kube-apiserver that miniapi
// doesn't have.
func (o *Options) Warnings() []string {
	var warnings []string
	for _, p := range order {
		if p.new == nil && (slices.Contains(o.Enable, p.name) || slices.Contains(o.Only, p.name)) {
			warnings = append(warnings, fmt.Sprintf("admission plugin %s is not part of miniapi, so it does not run", p.name))
		}
	}
	return warnings
}

// enabled returns the plugins that run, in order.
func (o *Options) enabled() []plugin {
	var enabled []plugin
	for _, p := range order {
		runs := p.on && !slices.Contains(o.Disable, p.name) || slices.Contains(o.Enable, p.name)
		if len(o.Only) > 0 {
			runs = slices.Contains(o.Only, p.name)
		}
		if runs && p.new != nil {
			enabled = append(enabled, p)
		}
	}
	return enabled
}

// Runs says whether the plugin of a name runs.
func (o *Options) Runs(name string) bool {
	return slices.ContainsFunc(o.enabled(), func(p plugin) bool { return p.name == name })
}

// pluginNames returns the names of the plugins that the filter takes, in order; nil takes all.
func pluginNames(filter func(plugin) bool) []string {
	var names []string
	for _, p := range order {
		if filter == nil || filter(p) {
			names = append(names, p.name)
		}
	}
	return names
}
