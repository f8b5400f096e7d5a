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

// Copies are objects as they were given and as they were stored, by where they belong. The zero value is ready for use.
// The objects that every cluster has are the same for most servers: what one server has prepared and validated, others
// can copy.
type Copies struct{ byKey sync.Map }

// copyKey is where an object belongs, in servers with the same settings: another emulated version or feature gate may
// give an object other fields.
type copyKey struct {
	settings string
	place
}

// place is where an object belongs.
type place struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func (p place) resource() schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(p.kind)
	return plural
}

type seeded struct{ given, stored runtime.Object }

// equal ignores when something happened.
var equal = conversion.EqualitiesOrDie(func(metav1.Time, metav1.Time) bool { return true })

// add remembers an object, which must be all that is stored for it: a Service has an address, which is
// another object.
func (c *Copies) add(key copyKey, given, object runtime.Object) {
	c.byKey.Store(key, seeded{given, object.DeepCopyObject()})
}

// get returns a copy of an object as it would be stored now, or nil.
func (c *Copies) get(key copyKey, given runtime.Object) runtime.Object {
	found, ok := c.byKey.Load(key)
	if !ok || found.(seeded).given != given && !equal.DeepEqual(found.(seeded).given, given) {
		return nil
	}
	object := found.(seeded).stored.DeepCopyObject()
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil
	}
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	accessor.SetUID(uuid.NewUUID())
	accessor.SetResourceVersion("")
	accessor.SetCreationTimestamp(now)
	managers := accessor.GetManagedFields()
	for i := range managers {
		managers[i].Time = &now
	}
	copyStatus(given, object)
	return object
}

// copyStatus copies the status of what has one that a creation wouldn't keep, and says whether it
// is such an object.
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
