package server

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

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

const runtimeConfigForm = "it takes GROUP/VERSION[/RESOURCE]=true|false, and api/all, api/ga, api/beta, api/alpha or api/legacy"

// enabledAPIs merges --runtime-config into the defaults. "api/legacy" stands for all
// the legacy resources.
func (o *Options) enabledAPIs() (*serverstorage.ResourceConfig, error) {
	config := flag.ConfigurationMap{}
	legacy := builtin.Table().LegacyAPIs(o.globals.versions.EmulationVersion())
	for key, value := range o.APIs.RuntimeConfig {
		if key != "api/legacy" {
			config[key] = value
			continue
		}
		if value != "true" && value != "false" && value != "" {
			return nil, fmt.Errorf("--runtime-config api/legacy=%s: must be true or false", value)
		}
		for _, gvr := range legacy {
			if key := gvr.GroupVersion().String(); !explicit(o.APIs.RuntimeConfig, key, key+"/"+gvr.Resource) {
				config[key+"/"+gvr.Resource] = value
			}
		}
	}
	groups := &genericoptions.APIEnablementOptions{RuntimeConfig: config}
	if errs := groups.Validate(builtin.Table().Scheme(), crdserver.Scheme); len(errs) > 0 {
		return nil, fmt.Errorf("--runtime-config %s: %w; %s", o.APIs.RuntimeConfig.String(), utilerrors.NewAggregate(errs), runtimeConfigForm)
	}
	if err := checkResources(o.APIs.RuntimeConfig); err != nil {
		return nil, fmt.Errorf("--runtime-config %s: %w", o.APIs.RuntimeConfig.String(), err)
	}
	apis := builtin.Table().DefaultAPIs()
	apis.EnableVersions(apiextensionsv1.SchemeGroupVersion)
	apis, err := resourceconfig.MergeAPIResourceConfigs(apis, config, builtin.Table().Scheme())
	if err == nil && o.ServerRun.EmulationForwardCompatible {
		apis, err = resourceconfig.EmulationForwardCompatibleResourceConfig(apis, config, builtin.Table().Scheme())
	}
	if err != nil {
		return nil, fmt.Errorf("--runtime-config %s: %w; %s", o.APIs.RuntimeConfig.String(), err, runtimeConfigForm)
	}
	if !apis.ResourceEnabled(corev1.SchemeGroupVersion.WithResource("namespaces")) {
		return nil, fmt.Errorf("--runtime-config %s: turns off v1, without which there is no API server", o.APIs.RuntimeConfig.String())
	}
	// "api/all" and "api/beta" mean what the emulated version serves.
	for _, gvr := range legacy {
		if !apis.VersionExplicitlyEnabled(gvr.GroupVersion()) && !apis.ResourceExplicitlyEnabled(gvr) {
			apis.DisableResources(gvr)
		}
	}
	if err := o.emulate(apis); err != nil {
		return nil, fmt.Errorf("--runtime-config %s: %w", o.APIs.RuntimeConfig.String(), err)
	}
	return apis, nil
}

// checkResources returns an error that names each resource that a version which there is doesn't have.
func checkResources(config flag.ConfigurationMap) error {
	var unknown []string
	for key := range config {
		parts := strings.Split(key, "/")
		if len(parts) != 3 {
			continue
		}
		gv := schema.GroupVersion{Group: parts[0], Version: parts[1]}
		if builtin.Table().Scheme().IsVersionRegistered(gv) && !builtin.Table().HasResource(gv.WithResource(parts[2])) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return fmt.Errorf("unknown resources %s", strings.Join(unknown, ", "))
}

// explicit says whether one of the keys is set.
func explicit(config flag.ConfigurationMap, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		_, set := config[key]
		return set
	})
}
