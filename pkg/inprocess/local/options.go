package local

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// options returns the options of a described server. The changes come last.
func (e *Engine) options(d engine.Description) (*server.Options, error) {
	o := server.NewOptions()
	if err := parseFlags(o, d.Flags); err != nil {
		return nil, err
	}
	o.Serving.BindPort = 0
	o.DataDir = d.DataDir
	o.Definitions.FieldManager = d.DefinitionManager
	for _, definition := range d.Definitions {
		o.Definitions.JSON = append(o.Definitions.JSON, definition.JSON)
	}
	maps.Copy(o.APIs.RuntimeConfig, d.RuntimeConfig)
	o.Admission.Enable, o.Admission.Disable = d.EnablePlugins, d.DisablePlugins
	o.Controllers = d.Controllers
	if d.EmulatedVersion != "" {
		if err := o.EmulateVersion(d.EmulatedVersion); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(
		checkPlugins("WithAdmissionPlugins", d.EnablePlugins), checkPlugins("WithoutAdmissionPlugins", d.DisablePlugins),
		checkControllers(d.Controllers), setGates(o, d.FeatureGates),
	); err != nil {
		return nil, err
	}
	for _, change := range e.Changes {
		change(o)
	}
	for _, caller := range d.Callers {
		if !o.Admission.Runs(caller.Plugin) {
			return nil, fmt.Errorf("%s: its webhooks would not be called: admission plugin %q is off", caller.Configuration, caller.Plugin)
		}
	}
	place(o, d.Services)
	return o, nil
}

// parseFlags sets options by flags of "miniapi serve".
func parseFlags(o *server.Options, flags []string) error {
	if len(flags) == 0 {
		return nil
	}
	var sections cliflag.NamedFlagSets
	o.AddFlags(&sections)
	all := pflag.NewFlagSet("miniapi", pflag.ContinueOnError)
	all.SetOutput(io.Discard) // pflag warns of deprecated flags there
	for _, section := range sections.FlagSets {
		all.AddFlagSet(section)
	}
	if err := all.Parse(flags); err != nil {
		return fmt.Errorf("WithFlags: %w", err)
	}
	return nil
}

// checkPlugins validates names as the server does. The error has the name of the fixture's option instead of the flag.
func checkPlugins(option string, names []string) error {
	plugins := admission.NewOptions()
	plugins.Enable = names
	for _, err := range plugins.Validate() {
		return fmt.Errorf("%s: %s", option, strings.TrimPrefix(err.Error(), "--enable-admission-plugins: "))
	}
	return nil
}

// checkControllers is checkPlugins for controllers.
func checkControllers(names []string) error {
	for _, err := range controllers.Selection(names).Validate() {
		return fmt.Errorf("WithControllers: %s", strings.TrimPrefix(err.Error(), "--controllers: "))
	}
	return nil
}

// setGates sets feature gates. Gates that aren't a library's belong to the one server.
func setGates(o *server.Options, gates map[string]bool) error {
	o.FeatureGates = map[string]bool{}
	known := o.KnownFeatureGates()
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		if o.Admission.SetGate(name, gates[name]) {
			continue
		}
		if known[featuregate.Feature(name)] == nil {
			return fmt.Errorf("WithFeatureGates: feature gate %s is unknown, or has no effect in miniapi", name)
		}
		o.FeatureGates[name] = gates[name]
	}
	return nil
}

// place gives services their addresses, except those that have another address in the options.
func place(o *server.Options, services []engine.Place) {
	addresses := admission.ServiceAddresses{}
	maps.Copy(addresses, o.Admission.Services) // the map may be the test's own
	placed := map[admission.ServicePort]bool{}
	for port := range addresses {
		placed[admission.ServicePort{Namespace: port.Namespace, Name: port.Name}] = true
	}
	for _, s := range services {
		if service := (admission.ServicePort{Namespace: s.Namespace, Name: s.Name}); !placed[service] {
			addresses[service] = s.Address
		}
	}
	o.Admission.Services = addresses
}
