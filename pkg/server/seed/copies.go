package seed

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/server/direct"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// Copies caches the objects that every cluster has (namespaces, RBAC roles and so on), each in two forms: the object
// that a server wants to create, and a template of the stored object. Most servers store the same objects, so a later
// server can copy the objects that an earlier server has defaulted and validated. The zero value is ready for use.
type Copies struct{ byKey sync.Map }

// copyKey is the key of an object in Copies. It includes the emulated version and the feature gates, because an object
// may have other fields with other gates or another version.
type copyKey struct {
	settings string
	direct.Place
}

type seeded struct {
	given runtime.Object
	storage.Template
}

// equal compares objects, but not the times in them.
var equal = conversion.EqualitiesOrDie(func(metav1.Time, metav1.Time) bool { return true })

// template returns the template of a stored object. If no earlier server wanted to create an object that equals given,
// the function create makes the template. It must not be called for an object whose creation also creates other
// objects: a Service, for example, also gets an IPAddress.
func (c *Copies) template(key copyKey, given runtime.Object, create func() (storage.Template, error)) (storage.Template, error) {
	if found, ok := c.byKey.Load(key); ok && (found.(seeded).given == given || equal.DeepEqual(found.(seeded).given, given)) {
		return found.(seeded).Template, nil
	}
	template, err := create()
	if err == nil {
		c.byKey.Store(key, seeded{given, template})
	}
	return template, err
}
