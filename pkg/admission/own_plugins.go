package admission

import (
	"fmt"
	"io"
	"slices"

	"k8s.io/apiserver/pkg/admission"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/client-go/rest"
)

// Plugin is an admission plugin of a program's own, for Options.Plugins. The initializers of k8s.io/apiserver (package
// initializer) give it clients and informers of the cluster whose objects admission reads. See also WantsClientConfig.
type Plugin struct {
	// Name is the name of the plugin in flags, in an AdmissionConfiguration and in metrics.
	Name string
	// Before is the name of the plugin before which this one runs. By default, it is MutatingAdmissionPolicy: policies
	// and webhooks then get the object that the plugin has changed.
	Before string
	// Off makes the plugin run only if --enable-admission-plugins names it.
	Off bool
	// New makes the plugin. The argument is the plugin's part of --admission-control-config-file, or nil.
	New func(config io.Reader) (admission.Interface, error)
}

// WantsClientConfig is implemented by a plugin that reads or writes objects of the server in which it runs, also if
// another server has the configuration of admission. The requests of the client stay in the process, and have an
// administrator's permissions. The server answers them after its start.
type WantsClientConfig interface {
	SetClientConfig(config *rest.Config)
}

// order returns the in-tree plugins and the program's own, in the order of the chain.
func (o *Options) order() []plugin {
	if len(o.Plugins) == 0 {
		return order
	}
	all := slices.Clone(order)
	for _, p := range o.Plugins {
		own := plugin{name: p.Name, on: !p.Off, changes: changes{everyResource}, new: func(_ *chain, config io.Reader) (admission.Interface, error) {
			return p.New(config)
		}}
		at := slices.IndexFunc(all, func(other plugin) bool { return other.name == p.before() })
		if at < 0 {
			at = len(all) // Validate reports the unknown name
		}
		all = slices.Insert(all, at, own)
	}
	return all
}

func (p Plugin) before() string {
	if p.Before == "" {
		return mutatingpolicy.PluginName
	}
	return p.Before
}

// validatePlugins returns the errors of Options.Plugins.
func (o *Options) validatePlugins() []error {
	var errs []error
	known := pluginNames(order, nil)
	for _, p := range o.Plugins {
		switch {
		case p.Name == "" || p.New == nil:
			errs = append(errs, fmt.Errorf("admission plugin %q: must have a name and a function New", p.Name))
		case slices.Contains(known, p.Name):
			errs = append(errs, fmt.Errorf("admission plugin %q: another plugin has the name", p.Name))
		case !slices.Contains(known, p.before()):
			errs = append(errs, fmt.Errorf("admission plugin %q: must run before a plugin that is known and comes earlier in the list, not %q", p.Name, p.Before))
		}
		known = append(known, p.Name)
	}
	return errs
}
