package main

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// kubeAPIs are versions that kube-apiserver can be told to serve, by group. Those that
// the registry doesn't have are accepted.
var kubeAPIs = map[string][]string{
	"apiregistration.k8s.io":    {"v1", "v1beta1"},
	"certificates.k8s.io":       {"v1alpha1"},
	"coordination.k8s.io":       {"v1alpha1", "v1alpha2"},
	"internal.apiserver.k8s.io": {"v1alpha1"},
	"resource.k8s.io":           {"v1alpha3"},
	"scheduling.k8s.io":         {"v1alpha1", "v1alpha2", "v1alpha3", "v1beta1"},
	"storagemigration.k8s.io":   {"v1alpha1", "v1beta1", "v1"},
}

// dropKubeAPIs takes from --runtime-config what kube-apiserver alone can serve.
func dropKubeAPIs(config flag.ConfigurationMap, inert *inertFlags) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		parts := strings.Split(key, "/")
		if len(parts) < 2 || !slices.Contains(kubeAPIs[parts[0]], parts[1]) {
			continue
		}
		if !registry.Scheme().IsVersionRegistered(schema.GroupVersion{Group: parts[0], Version: parts[1]}) {
			delete(config, key)
			inert.note("--runtime-config " + key)
		}
	}
}
