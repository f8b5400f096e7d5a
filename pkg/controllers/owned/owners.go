package owned

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// Owners finds the owners of objects among the objects of one kind.
type Owners struct {
	// Kind is the kind of the owners, and Informer has them.
	Kind     string
	Informer cache.SharedIndexInformer
	// Selector returns the label selector of an owner.
	Selector func(owner any) (labels.Selector, error)
}

// Events calls add with the keys of the owners of objects that are added, changed or deleted. An object with a controller
// has that owner, if it is of the Kind. An object without a controller has every owner whose selector matches its labels,
// because one of them adopts it. A change of the controller is an event of both owners.
func (o Owners) Events(objects cache.SharedIndexInformer, add func(key string)) work.Events {
	enqueue := func(object metav1.Object) {
		for _, owner := range o.of(object) {
			add(Key(owner))
		}
	}
	return work.Events{Informer: objects, Changed: enqueue, Deleted: enqueue, Updated: func(before, after metav1.Object) {
		if !equality.Semantic.DeepEqual(metav1.GetControllerOfNoCopy(before), metav1.GetControllerOfNoCopy(after)) {
			enqueue(before)
		}
		enqueue(after)
	}}
}

func (o Owners) of(object metav1.Object) []metav1.Object {
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		if controller.Kind != o.Kind {
			return nil
		}
		obj, _, _ := o.Informer.GetStore().GetByKey(cache.NewObjectName(object.GetNamespace(), controller.Name).String())
		if owner, ok := obj.(metav1.Object); ok && owner.GetUID() == controller.UID {
			return []metav1.Object{owner}
		}
		return nil
	}
	all, err := o.Informer.GetIndexer().ByIndex(cache.NamespaceIndex, object.GetNamespace())
	if err != nil {
		return nil // the error is impossible: the index exists
	}
	var owners []metav1.Object
	for _, obj := range all {
		selector, err := o.Selector(obj)
		if err != nil || selector.Empty() || !selector.Matches(labels.Set(object.GetLabels())) {
			continue
		}
		if owner, ok := obj.(metav1.Object); ok {
			owners = append(owners, owner)
		}
	}
	return owners
}

// Key returns the key of an object in a store and in a queue.
func Key(object metav1.Object) string { return cache.MetaObjectToName(object).String() }
