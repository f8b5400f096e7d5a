// Package apis selects which resources of a registry.Table a server serves. The selection depends on --runtime-config
// and on the version of Kubernetes that the server emulates.
//
// [Config.Enabled] makes the selection. Don't use the package for custom resources or for the APIs of other servers: the
// table doesn't have them.
package apis

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/server/resourceconfig"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

const runtimeConfigForm = "the flag takes GROUP/VERSION[/RESOURCE]=true|false, v1 for the core group, and api/all, api/ga, api/beta, api/alpha or api/legacy"

// Config has the settings that determine which resources a server serves.
type Config struct {
	Table *registry.Table
	// Behind is true if the server is behind a cluster, which serves the built-in groups. The server then serves a built-in
	// group only if RuntimeConfig enables it.
	Behind   bool
	Versions basecompatibility.EffectiveVersion
	// Gates are the feature gates of the server. A kind whose feature gate is off isn't served.
	Gates featuregate.FeatureGate
	// RuntimeConfig is the value of --runtime-config.
	RuntimeConfig flag.ConfigurationMap
	// ForwardCompatible and RuntimeConfigForwardCompatible are the values of --emulation-forward-compatible and
	// --runtime-config-emulation-forward-compatible.
	ForwardCompatible, RuntimeConfigForwardCompatible bool
}

// Enabled returns the enabled resources: the defaults with the changes of --runtime-config, without the resources that
// the emulated version of Kubernetes didn't have yet. The key "api/legacy" of --runtime-config stands for all resources
// that kube-apiserver no longer serves in a version that k8s.io/api still has.
func (o Config) Enabled() (*serverstorage.ResourceConfig, error) {
	config := flag.ConfigurationMap{}
	legacy := o.Table.LegacyAPIs(o.Versions.EmulationVersion())
	for key, value := range o.RuntimeConfig {
		if key != "api/legacy" {
			config[coreKey(key)] = value
			continue
		}
		if value != "true" && value != "false" && value != "" {
			return nil, fmt.Errorf("--runtime-config api/legacy=%s: must be true or false", value)
		}
		for _, gvr := range legacy {
			if key := gvr.GroupVersion().String(); !explicit(o.RuntimeConfig, key, key+"/"+gvr.Resource) {
				config[key+"/"+gvr.Resource] = value
			}
		}
	}
	groups := &genericoptions.APIEnablementOptions{RuntimeConfig: config}
	if errs := groups.Validate(o.Table.Scheme(), crdserver.Scheme); len(errs) > 0 {
		return nil, fmt.Errorf("--runtime-config %s: %w; %s", o.RuntimeConfig.String(), utilerrors.NewAggregate(errs), runtimeConfigForm)
	}
	if err := o.checkResources(config); err != nil {
		return nil, fmt.Errorf("--runtime-config %s: %w", o.RuntimeConfig.String(), err)
	}
	apis := o.Table.DefaultAPIs()
	apis.EnableVersions(apiextensionsv1.SchemeGroupVersion)
	if o.Behind {
		apis.DisableVersions(apiextensionsv1.SchemeGroupVersion)
		for _, group := range builtin.Groups() {
			apis.DisableVersions(o.Table.Scheme().PrioritizedVersionsForGroup(group.Name)...)
		}
	}
	apis, err := resourceconfig.MergeAPIResourceConfigs(apis, config, o.Table.Scheme())
	if err == nil {
		// The group of custom resource definitions isn't in the table, because it uses another scheme.
		apis, err = resourceconfig.MergeAPIResourceConfigs(apis, ofGroup(config, apiextensionsv1.GroupName), crdserver.Scheme)
	}
	if err == nil && o.ForwardCompatible {
		apis, err = resourceconfig.EmulationForwardCompatibleResourceConfig(apis, config, o.Table.Scheme())
	}
	if err != nil {
		return nil, fmt.Errorf("--runtime-config %s: %w; %s", o.RuntimeConfig.String(), err, runtimeConfigForm)
	}
	if namespaces := corev1.SchemeGroupVersion.WithResource("namespaces"); !o.Behind && o.Table.HasResource(namespaces) && !apis.ResourceEnabled(namespaces) {
		return nil, fmt.Errorf("--runtime-config %s: must not turn off namespaces of v1, because every server needs them", o.RuntimeConfig.String())
	}
	// "api/all" and "api/beta" must not enable legacy resources, because these keys stand for resources of the
	// emulated version.
	for _, gvr := range legacy {
		if !apis.VersionExplicitlyEnabled(gvr.GroupVersion()) && !apis.ResourceExplicitlyEnabled(gvr) {
			apis.DisableResources(gvr)
		}
	}
	if err := o.emulate(apis); err != nil {
		return nil, fmt.Errorf("--runtime-config %s: %w", o.RuntimeConfig.String(), err)
	}
	apis.DisableResources(o.Table.WithoutFeature(o.Gates)...)
	return apis, nil
}

// coreKey replaces "v1" or "api/v1" at the beginning of a key by "/v1", the name of the core group's version. For
// example, v1/pods becomes /v1/pods. Any other key stays unchanged. The help of --runtime-config names "v1", and
// kube-apiserver also accepts "api/v1".
func coreKey(key string) string {
	for _, spelling := range []string{"v1", "api/v1"} {
		if rest, found := strings.CutPrefix(key, spelling); found && (rest == "" || rest[0] == '/') {
			return "/v1" + rest
		}
	}
	return key
}

// definitions is the resource of CustomResourceDefinitions. The table doesn't have it.
const definitions = "customresourcedefinitions"

// checkResources returns an error that names each resource of the configuration that doesn't exist in its group
// version.
func (o Config) checkResources(config flag.ConfigurationMap) error {
	var unknown []string
	for key := range config {
		parts := strings.Split(key, "/")
		if len(parts) != 3 {
			continue
		}
		gv, exists := schema.GroupVersion{Group: parts[0], Version: parts[1]}, true
		switch {
		case gv == apiextensionsv1.SchemeGroupVersion:
			exists = parts[2] == definitions
		case o.Table.Scheme().IsVersionRegistered(gv):
			exists = o.Table.HasResource(gv.WithResource(parts[2]))
		}
		if !exists {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return fmt.Errorf("unknown resources %s: must be VERSION/RESOURCE or GROUP/VERSION/RESOURCE of resources that are built in", strings.Join(unknown, ", "))
}

// ofGroup returns the entries of --runtime-config for the versions and resources of a group.
func ofGroup(config flag.ConfigurationMap, group string) flag.ConfigurationMap {
	own := flag.ConfigurationMap{}
	for key, value := range config {
		if strings.HasPrefix(key, group+"/") {
			own[key] = value
		}
	}
	return own
}

// explicit tells whether --runtime-config sets one of the keys.
func explicit(config flag.ConfigurationMap, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		_, set := config[key]
		return set
	})
}
