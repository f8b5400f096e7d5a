// Package defaultclass finds the class that objects get which name none.
//
// PriorityClasses are no such classes: a field marks the default, the lowest counts, and pods get its
// value with its name. The Priority plugin looks for itself.
package defaultclass

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Name returns the name of the class that one of the annotations marks as default. Of several classes the
// newest counts, so that a default can be replaced without a gap.
func Name[Class metav1.Object](classes []Class, annotations ...string) (name string, found bool) {
	marked := slices.DeleteFunc(slices.Clone(classes), func(c Class) bool {
		return !slices.ContainsFunc(annotations, func(a string) bool { return c.GetAnnotations()[a] == "true" })
	})
	if len(marked) == 0 {
		return "", false
	}
	return slices.MinFunc(marked, newestFirst).GetName(), true
}

func newestFirst[Class metav1.Object](a, b Class) int {
	return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
}
