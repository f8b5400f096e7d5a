// Package tolerations merges what pods tolerate with what plugins add.
//
// Whether a toleration matches a taint is another question, which corev1.Toleration answers itself. A
// plugin that adds a toleration only where none is for the taint has no use for merging.
package tolerations

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Merge returns the tolerations of both lists, in order, without those that another one covers.
func Merge(first, second []corev1.Toleration) []corev1.Toleration {
	all := slices.Concat(first, second)
	var merged []corev1.Toleration
	for i, t := range all {
		coveredBefore := slices.ContainsFunc(merged, func(other corev1.Toleration) bool { return covers(other, t) })
		coveredLater := slices.ContainsFunc(all[i+1:], func(other corev1.Toleration) bool {
			return !equality.Semantic.DeepEqual(other, t) && covers(other, t)
		})
		if !coveredBefore && !coveredLater {
			merged = append(merged, t)
		}
	}
	return merged
}

// covers tells whether t adds nothing to other.
func covers(other, t corev1.Toleration) bool {
	exists := other.Operator == corev1.TolerationOpExists
	switch {
	case equality.Semantic.DeepEqual(other, t):
		return true
	case other.Key != t.Key && (other.Key != "" || !exists): // without a key, every taint is tolerated
		return false
	case other.Effect != t.Effect && other.Effect != "": // without an effect, every effect is
		return false
	case other.Effect == corev1.TaintEffectNoExecute && other.TolerationSeconds != nil &&
		(t.TolerationSeconds == nil || *t.TolerationSeconds > *other.TolerationSeconds):
		return false
	case exists:
		return true
	}
	return (other.Operator == corev1.TolerationOpEqual || other.Operator == "") &&
		t.Operator == corev1.TolerationOpEqual && t.Value == other.Value
}

// Allowed tells whether each toleration is covered by one that is allowed. An empty list allows all.
func Allowed(list, allowed []corev1.Toleration) bool {
	if len(allowed) == 0 {
		return true
	}
	return !slices.ContainsFunc(list, func(t corev1.Toleration) bool {
		return !slices.ContainsFunc(allowed, func(a corev1.Toleration) bool { return covers(a, t) })
	})
}
