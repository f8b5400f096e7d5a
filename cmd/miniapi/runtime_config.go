package main

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// kubeAPIs are versions that kube-apiserver can be told to serve, by group. Those that
// the registry doesn't have are accepted.
var kubeAPIs = map[string][]string{
	"apiregistration.k8s.io":    {"v1beta1"},
	"coordination.k8s.io":       {"v1alpha1"},
	"internal.apiserver.k8s.io": {"v1alpha1"},
	"lifecycle.k8s.io":          {"v1alpha1"},
	"scheduling.k8s.io":         {"v1alpha1", "v1alpha2", "v1alpha3"},
	"storagemigration.k8s.io":   {"v1alpha1"},
}

// kubeResources are resources that kube-apiserver can be told to serve in versions that
// the registry has, too, for others.
var kubeResources = []string{"resourcepoolstatusrequests"}

// dropKubeAPIs takes from --runtime-config what kube-apiserver alone can serve.
func dropKubeAPIs(config flag.ConfigurationMap, inert *inertFlags) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if isKubeAPI(strings.Split(key, "/")) {
			delete(config, key)
			inert.note("--runtime-config " + key)
		}
	}
}

// isKubeAPI says whether the parts of a key name what kube-apiserver alone can serve.
func isKubeAPI(parts []string) bool {
	if len(parts) < 2 {
		return false
	}
	gv := schema.GroupVersion{Group: parts[0], Version: parts[1]}
	if !builtin.Table().Scheme().IsVersionRegistered(gv) {
		return slices.Contains(kubeAPIs[gv.Group], gv.Version)
	}
	return len(parts) == 3 && slices.Contains(kubeResources, parts[2]) && !builtin.Table().HasResource(gv.WithResource(parts[2]))
}
