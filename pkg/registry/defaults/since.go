package defaults

import (
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// Kubernetes137 is the version 1.37 of Kubernetes.
var Kubernetes137 = version.MajorMinor(1, 37)

// Since reports whether the version of Kubernetes that the process emulates has a default that is new in another version.
func Since(kubernetes *version.Version) bool {
	return utilfeature.DefaultMutableFeatureGate.EmulationVersion().AtLeast(kubernetes)
}
