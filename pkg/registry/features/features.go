// Package features has the feature gates of kube-apiserver, with the properties that they have in each version of
// Kubernetes. Most gates are those of parts that miniapi lacks, such as the kubelet: nothing reads them, but a command
// line may set them. The gates on which fields of a kind depend are named in the kind's row (see registry.GateOf).
package features

import (
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
	baseversion "k8s.io/component-base/version"
)

// AddTo adds kube-apiserver's gates and their dependencies to the gates of k8s.io/apiserver and the other libraries.
// Both may have a gate: its properties are the same, because all modules are of one release of Kubernetes.
func AddTo(libraries featuregate.MutableVersionedFeatureGate) error {
	if err := libraries.AddVersioned(gates()); err != nil {
		return err
	}
	return libraries.AddDependencies(dependencies())
}

// Default returns gates that have the defaults of the newest version of Kubernetes.
var Default = sync.OnceValue(func() featuregate.FeatureGate {
	return Of(version.MustParse(baseversion.DefaultKubeBinaryVersion))
})

// Of returns gates that have the defaults of a version of Kubernetes.
func Of(kubernetes *version.Version) featuregate.MutableVersionedFeatureGate {
	g := featuregate.NewVersionedFeatureGate(kubernetes)
	utilruntime.Must(AddTo(g)) // the gates are constant, and the tests add them
	return g
}
