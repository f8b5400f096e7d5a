package seed

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/server/direct"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// Copies caches the objects that every cluster has (namespaces, RBAC roles and so on), each in two forms: the object
// that a server wants to create, and the stored object. Most servers store the same objects, so a later server can copy
// the objects that an earlier server has defaulted and validated. The zero value is ready for use.
type Copies struct{ byKey sync.Map }

// copyKey is the key of an object in Copies. It includes the emulated version and the feature gates, because an object
// may have other fields with other gates or another version.
type copyKey struct {
	settings string
	direct.Place
}

type seeded struct{ given, stored runtime.Object }

// equal compares objects, but not the times in them.
var equal = conversion.EqualitiesOrDie(func(metav1.Time, metav1.Time) bool { return true })

// add stores a copy of an object. It must not be called for an object whose creation also creates other objects: a
// Service, for example, also gets an IPAddress.
func (c *Copies) add(key copyKey, given, object runtime.Object) {
	c.byKey.Store(key, seeded{given, object.DeepCopyObject()})
}

// get returns an object in the form in which it is stored. The result is a copy of the object that an earlier server
// stored, changed by storage.Renew and direct.CopyStatus. It is nil if there is no copy, or if the object that the
// earlier server wanted to create differs from the argument "given".
func (c *Copies) get(key copyKey, given runtime.Object) runtime.Object {
	found, ok := c.byKey.Load(key)
	if !ok || found.(seeded).given != given && !equal.DeepEqual(found.(seeded).given, given) {
		return nil
	}
	object := found.(seeded).stored.DeepCopyObject()
	if err := storage.Renew(object, metav1.NewTime(time.Now().Truncate(time.Second))); err != nil {
		return nil
	}
	direct.CopyStatus(given, object)
	return object
}
