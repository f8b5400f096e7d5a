package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/defaulttolerationseconds"
)

// Options select the plugins of the chain and configure them.
type Options struct {
	// Enable and Disable change the default selection of plugins.
	Enable, Disable []string
	// Only, if set, lists all plugins that run. It can't be combined with Enable and Disable.
	Only []string
	// ConfigFile is the path of an AdmissionConfiguration, which has the plugins' configurations.
	ConfigFile string
	// ExcludeReviews hides reviews of authentication and authorization from webhooks, as they are hidden from policies.
	// The feature gate [ExcludeReviewsGate] sets it.
	ExcludeReviews bool
	// AnyNodeAudience makes NodeRestriction allow tokens for audiences that a node's pods don't need (KEP-4412). The
	// feature gate ServiceAccountNodeAudienceRestriction sets it when the gate is off.
	AnyNodeAudience bool
	// Services has the addresses of webhooks' services. They take precedence over the API's.
	Services ServiceAddresses

	// NotReadyTolerationSeconds and UnreachableTolerationSeconds are the default time for which pods tolerate a node in
	// that condition.
	NotReadyTolerationSeconds, UnreachableTolerationSeconds int64
}

// ExcludeReviewsGate is the feature gate of [Options.ExcludeReviews]. Only a gate that is set explicitly counts: it is
// on by default since 1.37, and would hide requests that webhooks have always received.
const ExcludeReviewsGate = string(features.ExcludeAdmissionWebhookVirtualResources)

// SetGate sets the option of a feature gate, if there is one. It returns true if the gate has no other effect: a gate
// of a library must be set in the process too.
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

// NewOptions returns the defaults of kube-apiserver.
func NewOptions() *Options {
	return &Options{
		Services:                     ServiceAddresses{},
		NotReadyTolerationSeconds:    defaulttolerationseconds.DefaultSeconds,
		UnreachableTolerationSeconds: defaulttolerationseconds.DefaultSeconds,
	}
}

// AddFlags adds the flags of the options, under kube-apiserver's names.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	names := fmt.Sprintf("(%s). Comma-delimited list of admission plugins: %s. The order of plugins in this flag does not matter.",
		strings.Join(pluginNames(func(p plugin) bool { return p.on }), ", "), strings.Join(slices.Sorted(slices.Values(pluginNames(nil))), ", "))
	flags.StringSliceVar(&o.Enable, "enable-admission-plugins", o.Enable,
		"admission plugins that should be enabled in addition to default enabled ones "+names)
	flags.StringSliceVar(&o.Disable, "disable-admission-plugins", o.Disable,
		"admission plugins that should be disabled although they are in the default enabled plugins list "+names)
	flags.StringSliceVar(&o.Only, "admission-control", o.Only,
		"all admission plugins that run, as a comma-delimited list; excludes the two flags above")
	// MarkDeprecated fails for unknown flags alone.
	_ = flags.MarkDeprecated("admission-control", "Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.")
	flags.StringVar(&o.ConfigFile, "admission-control-config-file", o.ConfigFile,
		"File with admission control configuration.")
	flags.Int64Var(&o.NotReadyTolerationSeconds, "default-not-ready-toleration-seconds", o.NotReadyTolerationSeconds,
		"Indicates the tolerationSeconds of the toleration for notReady:NoExecute that is added by default to every pod that does not already have such a toleration.")
	flags.Int64Var(&o.UnreachableTolerationSeconds, "default-unreachable-toleration-seconds", o.UnreachableTolerationSeconds,
		"Indicates the tolerationSeconds of the toleration for unreachable:NoExecute that is added by default to every pod that does not already have such a toleration.")
}

// AddOwnFlags adds the flags that kube-apiserver lacks.
func (o *Options) AddOwnFlags(flags *pflag.FlagSet) {
	flags.Var(o.Services, "webhook-service",
		"Call the webhooks of a service at an address, whatever the API says of it: `service=address`, in the form NAMESPACE/NAME[:PORT]=HOST:PORT. The webhook's certificate must be of NAME.NAMESPACE.svc, and of the caBundle or, without one, of this server's own authority. May be repeated.")
}

// Validate returns the errors of the options. Each error names its flag.
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

// Warnings returns warnings of plugins that were enabled and that miniapi lacks.
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

// Runs reports whether the plugin of a name runs.
func (o *Options) Runs(name string) bool {
	return slices.ContainsFunc(o.enabled(), func(p plugin) bool { return p.name == name })
}

// Hides says whether a resource is hidden from webhooks.
func (o *Options) Hides(resource schema.GroupResource) bool {
	return o.ExcludeReviews && slices.Contains(notIntercepted, resource)
}

// pluginNames returns the names of the plugins that the filter selects, in order. A nil filter selects all.
func pluginNames(filter func(plugin) bool) []string {
	var names []string
	for _, p := range order {
		if filter == nil || filter(p) {
			names = append(names, p.name)
		}
	}
	return names
}
