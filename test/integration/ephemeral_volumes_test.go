package integration_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A pod with a generic ephemeral volume gets a claim, becomes ready, and takes the claim with it.
func TestEphemeralVolumes(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithWorkloads())
	core := srv.Client().CoreV1()
	pod := podOn("p", "")
	pod.Spec.NodeName = ""
	pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}},
	}}}}
	must(core.Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}))(t)
	eventuallyInState(t, core.Pods("default"), "p", "Running running/0 ready")
	eventuallyBound(t, core.PersistentVolumeClaims("default"), "p-scratch")
	ok(t, core.Pods("default").Delete(t.Context(), "p", metav1.DeleteOptions{}))
	gone(t, "the claim", func(ctx context.Context) (*corev1.PersistentVolumeClaim, error) {
		return core.PersistentVolumeClaims("default").Get(ctx, "p-scratch", metav1.GetOptions{})
	})
}
