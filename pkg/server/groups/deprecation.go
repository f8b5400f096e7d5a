package groups

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/deprecation"

	"github.com/miniapi-dev/miniapi/pkg/server/version"
)

// datingCreater creates the objects that tell the library, where it makes routes, which kinds are deprecated: it
// warns of them, and marks them in metrics and the audit log. It dates them by the version that the linker gives a
// program. One that has none of it, as every test, would warn of deprecations that are years away.
type datingCreater struct {
	runtime.ObjectCreater
	// installed says that the routes are made: what is created from then on is for requests.
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

// undated is an object without what its type says of deprecation.
type undated struct{ runtime.Object }

// DeepCopyObject implements runtime.Object.
func (u undated) DeepCopyObject() runtime.Object { return undated{u.Object.DeepCopyObject()} }
