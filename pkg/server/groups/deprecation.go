package groups

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/deprecation"

	"github.com/miniapi-dev/miniapi/pkg/server/version"
)

// datingCreater creates objects for the library's routes. The library reads the deprecation of kinds from these
// objects, for warnings, metrics and the audit log. The library compares the version of a deprecation with the
// version of the program. A program without a version, such as a test, would warn of deprecations that are years
// away, so datingCreater compares with the served version of Kubernetes.
type datingCreater struct {
	runtime.ObjectCreater
	// installed becomes true when the routes have been made. Later calls of New create objects for requests, and
	// the library doesn't read deprecations from these objects.
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

// undated is an object without the methods by which its type declares deprecations.
type undated struct{ runtime.Object }

// DeepCopyObject implements runtime.Object.
func (u undated) DeepCopyObject() runtime.Object { return undated{u.Object.DeepCopyObject()} }
