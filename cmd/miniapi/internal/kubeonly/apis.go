package kubeonly

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// kubeAPIs are versions that kube-apiserver can serve, by group. The registry lacks some of them.
var kubeAPIs = map[string][]string{
	"apiregistration.k8s.io":    {"v1beta1"},
	"coordination.k8s.io":       {"v1alpha1"},
	"internal.apiserver.k8s.io": {"v1alpha1"},
	"lifecycle.k8s.io":          {"v1alpha1"},
	"scheduling.k8s.io":         {"v1alpha1", "v1alpha2", "v1alpha3"},
	"storagemigration.k8s.io":   {"v1alpha1"},
}

// kubeResources are resources of kube-apiserver in versions that the registry serves without these resources.
var kubeResources = []string{"resourcepoolstatusrequests"}

// DropAPIs removes versions and resources from --runtime-config that only kube-apiserver can serve.
func (g *Given) DropAPIs(config flag.ConfigurationMap) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if isKubeAPI(strings.Split(key, "/")) {
			delete(config, key)
			g.add("--runtime-config " + key)
		}
	}
}

// isKubeAPI reports whether the parts of a key name a version or resource that only kube-apiserver can serve.
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
