package core

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func unlessDeleted(m *metav1.ObjectMeta, phase string) string {
	if m.DeletionTimestamp != nil {
		return "Terminating"
	}
	return phase
}

// accessModes shows access modes by their usual abbreviations, such as RWO. Their order is fixed.
func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var shown []string
	for _, mode := range []struct {
		mode         corev1.PersistentVolumeAccessMode
		abbreviation string
	}{
		{corev1.ReadWriteOnce, "RWO"},
		{corev1.ReadOnlyMany, "ROX"},
		{corev1.ReadWriteMany, "RWX"},
		{corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, mode.mode) {
			shown = append(shown, mode.abbreviation)
		}
	}
	return strings.Join(shown, ",")
}
