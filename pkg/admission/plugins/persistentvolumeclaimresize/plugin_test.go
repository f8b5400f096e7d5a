package persistentvolumeclaimresize

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	claim := func(class, size string, phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: &class,
				Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
			},
			Status: corev1.PersistentVolumeClaimStatus{Phase: phase},
		}
	}
	const bound, pending = corev1.ClaimBound, corev1.ClaimPending
	const refused = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
	tests := []struct {
		name, reason, refusal string
		old, claim            *corev1.PersistentVolumeClaim
	}{
		{name: "allowed", reason: "the storage class of the claim allows expansion", old: claim("grows", "1Gi", bound),
			claim: claim("grows", "2Gi", bound)},
		{name: "same size", reason: "the new quantity has the same value in another form",
			old: claim("fixed", "1Gi", pending), claim: claim("fixed", "1024Mi", pending)},
		{name: "smaller", reason: "validation, and not admission, refuses a smaller size",
			old: claim("fixed", "2Gi", bound), claim: claim("fixed", "1Gi", bound)},
		{name: "not bound", reason: "an unbound claim has no volume to expand", old: claim("grows", "1Gi", pending),
			claim: claim("grows", "2Gi", pending), refusal: "Only bound persistent volume claims can be expanded"},
		{name: "not allowed", reason: "the class doesn't allow expansion", old: claim("fixed", "1Gi", bound),
			claim: claim("fixed", "2Gi", bound), refusal: refused},
		{name: "no class", reason: "a claim without a class has no provisioner", old: claim("", "1Gi", bound),
			claim: claim("", "2Gi", bound), refusal: refused},
		{name: "missing class", reason: "a missing class allows nothing", old: claim("gone", "1Gi", bound),
			claim: claim("gone", "2Gi", bound), refusal: refused},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil,
				&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "grows"}, AllowVolumeExpansion: new(true)},
				&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fixed"}})
			plugintest.Run(t, p, plugintest.Update(test.old, test.claim), test.refusal)
		})
	}
}
