package kubeonly

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// kubeAPIs are API versions, by group, that kube-apiserver can serve. isKubeAPI ignores a version that miniapi has
// too.
var kubeAPIs = map[string][]string{
	"apiregistration.k8s.io":    {"v1beta1"},
	"coordination.k8s.io":       {"v1alpha1"},
	"internal.apiserver.k8s.io": {"v1alpha1"},
	"lifecycle.k8s.io":          {"v1alpha1"},
	"scheduling.k8s.io":         {"v1alpha1", "v1alpha2", "v1alpha3"},
	"storagemigration.k8s.io":   {"v1alpha1"},
}

// kubeResources are resources that only kube-apiserver serves, in versions that miniapi serves too.
var kubeResources = []string{"resourcepoolstatusrequests"}

// DropAPIs removes from --runtime-config the versions and resources that only kube-apiserver can serve, and adds them
// to the list of settings without an effect.
func (g *Given) DropAPIs(config flag.ConfigurationMap) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if isKubeAPI(strings.Split(key, "/")) {
			delete(config, key)
			g.add("--runtime-config " + key)
		}
	}
}

// isKubeAPI reports whether a key of --runtime-config, split at its slashes, names a version or resource that only
// kube-apiserver can serve.
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
