package groups

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/deprecation"

	"github.com/miniapi-dev/miniapi/pkg/server/version"
)

// datingCreater creates the objects from which the library derives the deprecations of kinds, for warnings, metrics
// and the audit log. The library compares versions with that of the program, which the linker sets. In a program
// without a version, such as a test, the library would warn of deprecations that are years away.
type datingCreater struct {
	runtime.ObjectCreater
	// installed is set when the routes are made. From then on, objects are created for requests.
	installed bool
}

// New implements runtime.ObjectCreater.
func (c *datingCreater) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	obj, err := c.ObjectCreater.New(kind)
	if err != nil || c.installed {
		return obj, err
	}
	major, minor, err := deprecation.MajorMinor(version.Get())
	if err != nil || deprecation.IsDeprecated(obj, major, minor) {
		return obj, err
	}
	if _, dated := obj.(interface{ APILifecycleDeprecated() (major, minor int) }); dated {
		return undated{obj}, nil
	}
	return obj, nil
}

// undated is an object without the deprecations that its type declares.
type undated struct{ runtime.Object }

// DeepCopyObject implements runtime.Object.
func (u undated) DeepCopyObject() runtime.Object { return undated{u.Object.DeepCopyObject()} }
