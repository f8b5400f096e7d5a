package server

import (
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
)

// componentName is what kube-apiserver calls itself in --emulated-version.
const componentName = basecompatibility.DefaultKubeComponent

// newGlobals is a registry of this server's own for what kube-apiserver keeps once a
// process: its effective version. Feature gates are the exception: k8s.io/apiserver
// asks the process's own gate in most places, so servers of a process share it.
func newGlobals() basecompatibility.ComponentGlobalsRegistry {
	globals := basecompatibility.NewComponentGlobalsRegistry()
	// It can only fail for a name that is registered already.
	utilruntime.Must(globals.Register(componentName, compatibility.DefaultBuildEffectiveVersion(), utilfeature.DefaultMutableFeatureGate))
	return globals
}
