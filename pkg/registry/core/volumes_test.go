package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestPersistentVolumeClaimDifference checks that an error shows the changed lines by the names of kube-apiserver's
// internal types.
func TestPersistentVolumeClaimDifference(t *testing.T) {
	t.Parallel()
	claim := func(mode corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: registrytest.Stored("c"), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{mode},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
	}
	registrytest.WantErrors(t, "people read it to see what they changed",
		validatePersistentVolumeClaimUpdate(claim(corev1.ReadWriteMany), claim(corev1.ReadWriteOnce)),
		`spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims
@@ -1,6 +1,6 @@
 {
  "AccessModes": [
-  "ReadWriteOnce"
+  "ReadWriteMany"
  ],
  "Selector": null,
  "Resources": {
`)
}

// TestPersistentVolumeDifference checks the same for the source of a volume.
func TestPersistentVolumeDifference(t *testing.T) {
	t.Parallel()
	volume := func(handle string) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{ObjectMeta: registrytest.Stored("v"), Spec: corev1.PersistentVolumeSpec{
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		}}
		v.Namespace = ""
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "d.example.com", VolumeHandle: handle}
		return v
	}
	registrytest.WantErrors(t, "people read it to see what they changed",
		validatePersistentVolumeUpdate(volume("b"), volume("a")),
		`spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation
@@ -22,7 +22,7 @@
  "StorageOS": null,
  "CSI": {
   "Driver": "d.example.com",
-  "VolumeHandle": "a",
+  "VolumeHandle": "b",
   "ReadOnly": false,
   "FSType": "",
   "VolumeAttributes": null,
`)
}
