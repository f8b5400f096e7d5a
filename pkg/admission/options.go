package admission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/defaulttolerationseconds"
	"github.com/miniapi-dev/miniapi/pkg/admission/services"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Options select the plugins of the chain and configure them.
type Options struct {
	// Enable has the names of plugins that run in addition to the default plugins. Disable has the names of default
	// plugins that don't run.
	Enable, Disable []string
	// Only, if not empty, lists all plugins that run. It can't be combined with Enable and Disable.
	Only []string
	// ConfigFile is the path of an AdmissionConfiguration, which holds the configurations of plugins.
	ConfigFile string
	// Services are the addresses of services of webhooks. They take precedence over the Service objects of the API.
	Services services.Addresses

	// Plugins are plugins of a program's own, in addition to the in-tree plugins.
	Plugins []Plugin

	// ExemptGroup, if set, is a group whose users' requests webhooks and policies don't review. Other plugins do. A test
	// stores the objects that its cases need as a user of this group, whatever the tested policies say.
	ExemptGroup string

	// NotReadyTolerationSeconds and UnreachableTolerationSeconds are the times for which a pod stays on a node that
	// isn't ready or is unreachable, unless the pod has a toleration of its own.
	NotReadyTolerationSeconds, UnreachableTolerationSeconds int64
}

// NewOptions returns options with the default values of kube-apiserver's flags.
func NewOptions() *Options {
	return &Options{
		Services:                     services.Addresses{},
		NotReadyTolerationSeconds:    defaulttolerationseconds.DefaultSeconds,
		UnreachableTolerationSeconds: defaulttolerationseconds.DefaultSeconds,
	}
}

// AddFlags adds the flags that kube-apiserver has, under the same names.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	names := fmt.Sprintf("(%s). Comma-delimited list of admission plugins: %s. The order of plugins in this flag does not matter.",
		strings.Join(pluginNames(o.order(), func(p plugin) bool { return p.on }), ", "), strings.Join(slices.Sorted(slices.Values(pluginNames(o.order(), nil))), ", "))
	flags.StringSliceVar(&o.Enable, "enable-admission-plugins", o.Enable,
		"admission plugins that should be enabled in addition to default enabled ones "+names)
	flags.StringSliceVar(&o.Disable, "disable-admission-plugins", o.Disable,
		"admission plugins that should be disabled although they are in the default enabled plugins list "+names)
	flags.StringSliceVar(&o.Only, "admission-control", o.Only,
		"all admission plugins that run, as a comma-delimited list; excludes --enable-admission-plugins and --disable-admission-plugins")
	// MarkDeprecated fails only if the flag doesn't exist.
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
		"Call the webhooks of a service at this address instead of the address in the API: `NAMESPACE/NAME[:PORT]=HOST:PORT`. The webhook's certificate must be of NAME.NAMESPACE.svc, and of the caBundle or, without one, of this server's own authority. May be repeated.")
}

// Validate returns the errors of the options. Each error names its flag.
func (o *Options) Validate() []error {
	errs := o.validatePlugins()
	known := pluginNames(o.order(), nil)
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
				errs = append(errs, fmt.Errorf("--%s: plugin %q is unknown: must be one of %s", list.flag, name, strings.Join(known, ", ")))
			}
		}
	}
	for _, name := range o.Enable {
		if slices.Contains(o.Disable, name) {
			errs = append(errs, fmt.Errorf("--enable-admission-plugins and --disable-admission-plugins: plugin %q is in both: name the plugin in one of them", name))
		}
	}
	if len(o.Only) > 0 && len(o.Enable)+len(o.Disable) > 0 {
		errs = append(errs, fmt.Errorf("--admission-control %q can't be used together with --enable-admission-plugins or --disable-admission-plugins: leave --admission-control out, because the flag is deprecated", o.Only))
	}
	if _, err := readConfiguration(o.ConfigFile); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// Warnings returns a warning for each plugin that Enable or Only names and miniapi doesn't have.
func (o *Options) Warnings() []string {
	var warnings []string
	for _, p := range o.order() {
		if p.new == nil && (slices.Contains(o.Enable, p.name) || slices.Contains(o.Only, p.name)) {
			warnings = append(warnings, fmt.Sprintf("admission plugin %s is not part of miniapi, so it does not run", p.name))
		}
	}
	return warnings
}

// enabled returns the plugins that run, in the order of the chain.
func (o *Options) enabled() []plugin {
	var enabled []plugin
	for _, p := range o.order() {
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

// delegated are the in-tree plugins that run by default in an aggregated API server: those of k8s.io/apiserver.
var delegated = []string{
	lifecycle.PluginName, mutatingpolicy.PluginName, mutatingwebhook.PluginName, validatingpolicy.PluginName, validatingwebhook.PluginName,
}

// Delegated returns the options for a server behind a cluster. By default, its in-tree plugins are those that aggregated
// API servers have: the namespaces, the policies and the webhooks of the cluster.
func (o *Options) Delegated() *Options {
	plugins := *o
	plugins.Disable = slices.Clone(o.Disable)
	for _, p := range order {
		if !slices.Contains(delegated, p.name) && !slices.Contains(o.Enable, p.name) {
			plugins.Disable = append(plugins.Disable, p.name)
		}
	}
	return &plugins
}

// Runs reports whether the plugin with the name runs.
func (o *Options) Runs(name string) bool {
	return slices.ContainsFunc(o.enabled(), func(p plugin) bool { return p.name == name })
}

// Hides reports whether a resource is hidden from the webhooks or policies of a plugin. Only policies never get reviews
// of authentication and authorization: a feature gate hides the reviews from webhooks.
func Hides(gates featuregate.FeatureGate, plugin string, resource schema.GroupResource) bool {
	webhooks := plugin == trace.MutatingPlugin || plugin == trace.ValidatingPlugin
	return (!webhooks || gates.Enabled(features.ExcludeAdmissionWebhookVirtualResources)) && slices.Contains(notIntercepted, resource)
}

// PluginNames returns the names of all in-tree plugins, in the order of the chain.
func PluginNames() []string { return pluginNames(order, nil) }

// pluginNames returns the names of the plugins that the filter selects, in their order. A nil filter selects all.
func pluginNames(plugins []plugin, filter func(plugin) bool) []string {
	var names []string
	for _, p := range plugins {
		if filter == nil || filter(p) {
			names = append(names, p.name)
		}
	}
	return names
}
