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

// Copies has objects in two forms: as given and as stored. The zero value is ready for use. The objects of every
// cluster are the same for most servers, so a server can copy the objects that another one has prepared and
// validated.
type Copies struct{ byKey sync.Map }

// copyKey identifies an object among servers with the same settings: with another emulated version or feature gate,
// an object may have other fields.
type copyKey struct {
	settings string
	place
}

// place returns the key of an object.
type place struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func (p place) resource() schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(p.kind)
	return plural
}

type seeded struct{ given, stored runtime.Object }

// equal compares objects except for times.
var equal = conversion.EqualitiesOrDie(func(metav1.Time, metav1.Time) bool { return true })

// add stores a copy of an object. The object must not come with others: for example, a Service comes with an object
// for its address.
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

// copyStatus copies the status of objects whose status a create would drop. It returns false for other objects.
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
