// Package defaultclass finds the default class for objects without a class.
//
// The package isn't for PriorityClasses: a field marks their default, the lowest default counts, and pods get its value
// with its name. The plugin Priority finds it itself.
package defaultclass

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
)

// Lister lists the classes, as the listers of client-go do.
type Lister[Class metav1.Object] interface {
	List(labels.Selector) ([]Class, error)
}

// Name returns the name of the default class, which one of the annotations marks, or nil without one. Its error is the
// response to the request.
func Name[Class metav1.Object](a admission.Attributes, lister Lister[Class], annotations ...string) (*string, error) {
	classes, err := lister.List(labels.Everything())
	if err != nil {
		return nil, admission.NewForbidden(a, err)
	}
	return newest(classes, annotations), nil
}

// newest returns the name of the newest class that is marked. So a user can replace the default class by a new one at
// any time.
func newest[Class metav1.Object](classes []Class, annotations []string) *string {
	marked := slices.DeleteFunc(classes, func(c Class) bool {
		return !slices.ContainsFunc(annotations, func(a string) bool { return c.GetAnnotations()[a] == "true" })
	})
	if len(marked) == 0 {
		return nil
	}
	return new(slices.MinFunc(marked, newestFirst).GetName())
}

func newestFirst[Class metav1.Object](a, b Class) int {
	return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
}
