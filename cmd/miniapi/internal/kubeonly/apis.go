package kubeonly

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/component-base/cli/flag"
)

// kubeAPIs are API versions, by group, that only kube-apiserver can serve.
var kubeAPIs = map[string][]string{
	"apiregistration.k8s.io":  {"v1beta1"},
	"coordination.k8s.io":     {"v1alpha1"},
	"scheduling.k8s.io":       {"v1alpha1", "v1alpha2"},
	"storagemigration.k8s.io": {"v1alpha1"},
}

// DropAPIs removes from --runtime-config the versions that only kube-apiserver can serve, with their resources, and adds
// them to the list of settings without an effect.
func (g *Given) DropAPIs(config flag.ConfigurationMap) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if isKubeAPI(strings.Split(key, "/")) {
			delete(config, key)
			g.add("--runtime-config " + key)
		}
	}
}

// isKubeAPI reports whether a key of --runtime-config, split at its slashes, names a version that only kube-apiserver can
// serve, or a resource of it.
func isKubeAPI(parts []string) bool {
	return len(parts) > 1 && slices.Contains(kubeAPIs[parts[0]], parts[1])
}
