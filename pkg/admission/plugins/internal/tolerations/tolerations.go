// Package tolerations merges the tolerations of pods with the tolerations that plugins add.
//
// The package doesn't match tolerations with taints: corev1.Toleration has methods for that. A plugin that adds a
// toleration only if the pod has none for the taint needs no merging.
package tolerations

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Merge returns the tolerations of both lists, in order. It leaves out each toleration that another one covers.
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

// covers reports whether other tolerates every taint that t tolerates, for at least as long. Like kube-apiserver,
// covers doesn't take an empty operator of t for the operator Equal.
func covers(other, t corev1.Toleration) bool {
	exists := other.Operator == corev1.TolerationOpExists
	switch {
	case equality.Semantic.DeepEqual(other, t):
		return true
	// An empty key with the operator Exists tolerates every taint.
	case other.Key != t.Key && (other.Key != "" || !exists):
		return false
	case other.Effect != t.Effect && other.Effect != "": // an empty effect tolerates every effect
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

// Allowed reports whether each toleration of list is covered by a toleration of allowed. If allowed is empty, Allowed
// returns true.
func Allowed(list, allowed []corev1.Toleration) bool {
	if len(allowed) == 0 {
		return true
	}
	return !slices.ContainsFunc(list, func(t corev1.Toleration) bool {
		return !slices.ContainsFunc(allowed, func(a corev1.Toleration) bool { return covers(a, t) })
	})
}
