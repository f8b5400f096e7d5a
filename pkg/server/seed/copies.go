package seed

import (
	"sync"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// Copies caches the objects that every cluster has (namespaces, RBAC roles and so on), each as given and as stored.
// Most servers store the same objects, so a later server can copy the objects that an earlier server has defaulted and
// validated. The zero value is ready for use.
type Copies struct{ byKey sync.Map }

// copyKey is the key of an object in Copies. It includes the emulated version and the feature gates, because an object
// may have other fields with other gates or another version.
type copyKey struct {
	settings string
	place
}

// place is the kind, the namespace and the name of an object.
type place struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func (p place) resource() schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(p.kind)
	return plural
}

type seeded struct{ given, stored runtime.Object }

// equal compares objects, but not the times in them.
var equal = conversion.EqualitiesOrDie(func(metav1.Time, metav1.Time) bool { return true })

// add stores a copy of an object. It must not be called for an object whose creation also creates other objects: a
// Service, for example, also gets an IPAddress.
func (c *Copies) add(key copyKey, given, object runtime.Object) {
	c.byKey.Store(key, seeded{given, object.DeepCopyObject()})
}

// get returns the stored form of an object: a copy of the object that an earlier server stored, with the changes of
// renew and of copyStatus. It returns nil if there is no copy, or if the earlier server's object differs from the
// argument given.
func (c *Copies) get(key copyKey, given runtime.Object) runtime.Object {
	found, ok := c.byKey.Load(key)
	if !ok || found.(seeded).given != given && !equal.DeepEqual(found.(seeded).given, given) {
		return nil
	}
	object := found.(seeded).stored.DeepCopyObject()
	if err := renew(object, metav1.NewTime(time.Now().Truncate(time.Second))); err != nil {
		return nil
	}
	copyStatus(given, object)
	return object
}

// renew gives a UID of its own to a copy of a stored object, unless the object has no UID. It clears the resource
// version, and sets the time of the object's creation and of its managed fields to now.
func renew(object runtime.Object, now metav1.Time) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	if accessor.GetUID() != "" {
		accessor.SetUID(uuid.NewUUID())
	}
	accessor.SetResourceVersion("")
	accessor.SetCreationTimestamp(now)
	managers := accessor.GetManagedFields()
	for i := range managers {
		managers[i].Time = &now
	}
	accessor.SetManagedFields(managers)
	return nil
}

// copyStatus copies the status of the kinds whose create requests drop the status. It returns false for objects of
// other kinds.
func copyStatus(from, to runtime.Object) bool {
	switch to := to.(type) {
	case *flowcontrolv1.FlowSchema:
		to.Status = *from.(*flowcontrolv1.FlowSchema).Status.DeepCopy()
	case *networkingv1.ServiceCIDR:
		to.Status = *from.(*networkingv1.ServiceCIDR).Status.DeepCopy()
	default:
		return false
	}
	return true
}
