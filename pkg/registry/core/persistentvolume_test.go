package core

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPhaseTransitionTime checks the time of the last change of a volume's phase (KEP-3762).
func TestPhaseTransitionTime(t *testing.T) {
	t.Parallel()
	before, given := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	status := func(phase corev1.PersistentVolumePhase, at *metav1.Time) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{Status: corev1.PersistentVolumeStatus{Phase: phase, LastPhaseTransitionTime: at}}
	}
	for _, test := range []struct {
		name, reason string
		v            *corev1.PersistentVolume
		want         *metav1.Time // nil stands for the present time
	}{
		{"same phase, no time", "a controller of old doesn't know of the time", status(corev1.VolumePending, nil), &before},
		{"same phase, another time", "the controller knows", status(corev1.VolumePending, &given), &given},
		{"another phase, no time", "it changes now", status(corev1.VolumeBound, nil), nil},
		{"another phase, the same time", "the controller has read it and didn't change it", status(corev1.VolumeBound, &before), nil},
		{"another phase, another time", "the controller knows", status(corev1.VolumeBound, &given), &given},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			timeVolumePhase(t.Context(), test.v, status(corev1.VolumePending, &before))
			got := test.v.Status.LastPhaseTransitionTime
			if test.want == nil && (got == nil || !got.After(given.Time)) || test.want != nil && !test.want.Equal(got) {
				t.Errorf("%s: want %v, got %v", test.reason, test.want, got)
			}
		})
	}
}
