package owned

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// byController is the name of the index of objects by controller.
const byController = "controller"

// Index lets Of and Candidates find the objects of an informer. Several controllers may index the same informer.
func Index(informer cache.SharedIndexInformer) error {
	if _, indexed := informer.GetIndexer().GetIndexers()[byController]; indexed {
		return nil
	}
	return informer.AddIndexers(cache.Indexers{byController: func(obj any) ([]string, error) {
		object, ok := obj.(metav1.Object)
		if !ok {
			return nil, nil
		}
		if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
			return []string{string(owner.UID)}, nil
		}
		return []string{orphansOf(object.GetNamespace())}, nil
	}})
}

// orphansOf returns the key of the objects without a controller. No UID has a slash.
func orphansOf(namespace string) string { return "orphans/" + namespace }

// Of returns the objects whose controller is the owner. They are shared, and must not be changed.
func Of[T metav1.Object](informer cache.SharedIndexInformer, owner metav1.Object) []T {
	return indexed[T](informer, string(owner.GetUID()))
}

// Candidates returns the objects whose controller is the owner, and the objects of its namespace that have no controller.
// Claim selects from them.
func Candidates[T metav1.Object](informer cache.SharedIndexInformer, owner metav1.Object) []T {
	return append(Of[T](informer, owner), indexed[T](informer, orphansOf(owner.GetNamespace()))...)
}

func indexed[T metav1.Object](informer cache.SharedIndexInformer, key string) []T {
	found, err := informer.GetIndexer().ByIndex(byController, key)
	if err != nil {
		return nil // the error is impossible: the index exists
	}
	objects := make([]T, 0, len(found))
	for _, obj := range found {
		if object, ok := obj.(T); ok {
			objects = append(objects, object)
		}
	}
	return objects
}
