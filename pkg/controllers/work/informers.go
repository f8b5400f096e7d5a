package work

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// Events has the functions that are called with the objects of an informer.
type Events struct {
	Informer cache.SharedIndexInformer
	// Changed is called with each object, and again after each change of it. Deleted is called with deleted
	// objects. The functions must return at once. A nil function isn't called.
	Changed, Deleted func(metav1.Object)
	// Updated is called instead of Changed after a change, with the object before and after the change. If Updated is
	// nil, Changed is called.
	Updated func(before, after metav1.Object)
}

// Enqueue registers the functions of each Events as event handlers of its informer.
func Enqueue(all ...Events) error {
	_, err := Follow(all...)
	return err
}

// Follow does the same as Enqueue. It returns what tells that the functions have been called with all objects that existed
// at the start.
func Follow(all ...Events) (synced []cache.DoneChecker, err error) {
	for _, e := range all {
		changed := func(obj any) {
			if o, ok := obj.(metav1.Object); ok && e.Changed != nil {
				e.Changed(o)
			}
		}
		registration, err := e.Informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: changed,
			UpdateFunc: func(old, obj any) {
				before, _ := old.(metav1.Object)
				if after, ok := obj.(metav1.Object); ok && e.Updated != nil {
					e.Updated(before, after)
					return
				}
				changed(obj)
			},
			DeleteFunc: func(obj any) {
				if unseen, ok := obj.(cache.DeletedFinalStateUnknown); ok {
					obj = unseen.Obj
				}
				if o, ok := obj.(metav1.Object); ok && e.Deleted != nil {
					e.Deleted(o)
				}
			},
		})
		if err != nil {
			return nil, err
		}
		synced = append(synced, registration.HasSyncedChecker())
	}
	return synced, nil
}

// Named returns a function that calls add with the name of its object.
func Named(add func(string)) func(metav1.Object) {
	return func(o metav1.Object) { add(o.GetName()) }
}

// IsActive reports whether a namespace exists and isn't being deleted.
func IsActive(namespaces cache.SharedIndexInformer, name string) bool {
	obj, _, _ := namespaces.GetStore().GetByKey(name)
	namespace, ok := obj.(*corev1.Namespace)
	return ok && namespace.Status.Phase == corev1.NamespaceActive
}
