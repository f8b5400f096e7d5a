// Package defaultclass finds the default class among storage classes or ingress classes. An annotation marks the
// default class.
//
// Don't use the package for PriorityClasses: the plugin Priority finds the default PriorityClass. A field marks that
// class. If the field marks several PriorityClasses, the PriorityClass with the lowest priority counts.
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

// Name returns the name of the newest class that one of the annotations marks as default, or nil if no class is marked.
// Its error is the response to the request.
func Name[Class metav1.Object](a admission.Attributes, lister Lister[Class], annotations ...string) (*string, error) {
	classes, err := lister.List(labels.Everything())
	if err != nil {
		return nil, admission.NewForbidden(a, err)
	}
	return newest(classes, annotations), nil
}

// newest returns the name of the newest class that is marked as default. Because the newest class counts, a user can
// mark a new default before removing the mark of the old default.
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
