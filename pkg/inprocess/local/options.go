package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/admission/services"
	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/workloads"
)

// options returns the server options for a description. It calls the functions in e.Changes with the options.
func (e *Engine) options(ctx context.Context, d engine.Description) (*server.Options, error) {
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
	o.Admission.ExemptGroup = d.ExemptGroup
	o.Controllers = d.Controllers
	if err := e.addWorkloads(ctx, o, d.Workloads); err != nil {
		return nil, err
	}
	if d.EmulatedVersion != "" {
		if err := o.EmulateVersion(d.EmulatedVersion); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(
		checkPlugins("WithAdmissionPlugins", d.EnablePlugins), checkPlugins("WithoutAdmissionPlugins", d.DisablePlugins),
		checkControllers(d.Controllers), checkGates(o, d.FeatureGates),
	); err != nil {
		return nil, err
	}
	o.FeatureGates = d.FeatureGates
	if len(e.Changes) == 0 { // d.Kept stands for the options in the description, and not for changes by Go code
		o.Kept = d.Kept
	}
	for _, change := range e.Changes {
		change(o)
	}
	for _, caller := range d.Callers {
		if !o.Admission.Runs(caller.Plugin) {
			return nil, fmt.Errorf("%s: admission plugin %q is off, so no webhook of this configuration would be called: turn the plugin on, or leave the configuration out", caller.Configuration, caller.Plugin)
		}
	}
	place(o, d.Services)
	return o, nil
}

// parseFlags sets server options by flags of "miniapi serve".
func parseFlags(o *server.Options, flags []string) error {
	if len(flags) == 0 {
		return nil
	}
	var sections cliflag.NamedFlagSets
	o.AddFlags(&sections)
	all := pflag.NewFlagSet("miniapi", pflag.ContinueOnError)
	all.SetOutput(io.Discard) // pflag writes warnings about deprecated flags there
	for _, section := range sections.FlagSets {
		all.AddFlagSet(section)
	}
	if err := all.Parse(flags); err != nil {
		return fmt.Errorf("WithFlags: %w: see the flags and their values in the output of \"miniapi serve --help-all\"", err)
	}
	return nil
}

// checkPlugins validates the names of admission plugins as the server does. Its error names the fixture's option; the
// server's error would name a flag.
func checkPlugins(option string, names []string) error {
	plugins := admission.NewOptions()
	plugins.Enable = names
	for _, err := range plugins.Validate() {
		return fmt.Errorf("%s: %s", option, strings.TrimPrefix(err.Error(), "--enable-admission-plugins: "))
	}
	return nil
}

// checkControllers validates the names of controllers as the server does. Its error names the fixture's option; the
// server's error would name a flag.
func checkControllers(names []string) error {
	for _, err := range controllers.Selection(names).Validate() {
		return fmt.Errorf("WithControllers: %s", strings.TrimPrefix(err.Error(), "--controllers: "))
	}
	return nil
}

// optionOf has the fixture's options in place of flags.
var optionOf = strings.NewReplacer("--nodes", "WithNodes", "--stages", "WithStages")

// addWorkloads adds workloads to the options. All controllers run, unless the options name some.
func (e *Engine) addWorkloads(ctx context.Context, o *server.Options, described *engine.Workloads) error {
	if described == nil {
		return nil
	}
	w := workloads.NewOptions()
	w.Stages = described.Stages
	if described.Nodes != nil {
		w.Nodes = *described.Nodes
	}
	if described.RunPods {
		w.Runtime = processes.New(processes.Options{Init: e.ContainerInit})
	}
	made, err := workloads.New(ctx, w)
	if err != nil {
		return errors.New(optionOf.Replace(err.Error()))
	}
	if len(o.Controllers) == 0 {
		o.Controllers = controllers.Selection{controllers.All}
	}
	made.AddTo(o)
	return nil
}

// checkGates refuses feature gates that don't exist or have no effect: a test that sets such a gate proves nothing.
func checkGates(o *server.Options, gates map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		if !o.ReadsFeatureGate(name) {
			return fmt.Errorf("WithFeatureGates: feature gate %q is unknown, or has no effect in miniapi: leave the gate out, or correct its name", name)
		}
	}
	return nil
}

// place adds the addresses of services to the options. A service that already has an address in the options gets no
// other address.
func place(o *server.Options, places []engine.Place) {
	addresses := services.Addresses{}
	maps.Copy(addresses, o.Admission.Services) // the test may own the map, so change a copy
	placed := map[services.Port]bool{}
	for port := range addresses {
		placed[services.Port{Namespace: port.Namespace, Name: port.Name}] = true
	}
	for _, s := range places {
		if service := (services.Port{Namespace: s.Namespace, Name: s.Name}); !placed[service] {
			addresses[service] = s.Address
		}
	}
	o.Admission.Services = addresses
}
