package core

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestPhaseTransitionTime checks status.lastPhaseTransitionTime (KEP-3762).
func TestPhaseTransitionTime(t *testing.T) {
	t.Parallel()
	before, given := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	status := func(phase corev1.PersistentVolumePhase, at *metav1.Time) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{Status: corev1.PersistentVolumeStatus{Phase: phase, LastPhaseTransitionTime: at}}
	}
	for _, test := range []struct {
		name, reason string
		v            *corev1.PersistentVolume
		want         *metav1.Time // nil stands for the time of the update
	}{
		{"same phase, no time", "a controller of an older version does not send the time", status(corev1.VolumePending, nil), &before},
		{"same phase, another time", "the controller sets the time itself", status(corev1.VolumePending, &given), &given},
		{"another phase, no time", "the phase changes now", status(corev1.VolumeBound, nil), nil},
		{"another phase, the same time", "the controller sends the time that it has read", status(corev1.VolumeBound, &before), nil},
		{"another phase, another time", "the controller sets the time itself", status(corev1.VolumeBound, &given), &given},
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

// TestPersistentVolumeDifference checks that the error about a changed source shows the changed lines.
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
	registrytest.WantErrors(t, "the error shows the user the changed lines",
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

func TestPersistentVolumeErrors(t *testing.T) {
	t.Parallel()
	volume := func(source corev1.PersistentVolumeSource) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:    registrytest.Quantities("storage", "1Gi"), PersistentVolumeSource: source,
		}}
	}
	long := strings.Repeat("a", 63)
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name:   "secrets of a CSI driver",
			Reason: "a secret has a valid name and namespace; as in kube-apiserver, nodeStageSecretRef isn't checked",
			Object: volume(corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				VolumeHandle:               "h",
				ControllerPublishSecretRef: &corev1.SecretReference{Name: "A", Namespace: "a.b"},
				NodeStageSecretRef:         &corev1.SecretReference{Name: "A"},
				NodeExpandSecretRef:        &corev1.SecretReference{},
			}}),
			Want: []string{
				"spec.csi.driver: Required value",
				`spec.csi.controllerPublishSecretRef.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ` +
					"characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
					`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
				`spec.csi.controllerPublishSecretRef.namespace: Invalid value: "a.b": must not contain dots`,
				"spec.csi.nodeExpandSecretRef.name: Required value",
				"spec.csi.nodeExpandSecretRef.namespace: Required value",
			},
		},
		{
			Name: "secret of Cinder", Reason: "as in kube-apiserver, the form of the names isn't checked",
			Object: volume(corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{
				VolumeID: "v", SecretRef: &corev1.SecretReference{Name: "A"}}}),
			Want: []string{"spec.cinder.secretRef.namespace: Required value"},
		},
		{
			Name: "iSCSI initiator", Reason: "the name of the initiator is made from the volume and the portal",
			Object: volume(corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{
				TargetPortal: long, InitiatorName: ptr.To("eui.0123456789abcdef")}}),
			Want: []string{
				`spec.iscsi.targetportal: Invalid value: "` + long + `": Total length of <volume name>:<iscsi.targetPortal> must be under ` +
					"64 characters if iscsi.initiatorName is specified.",
				"spec.iscsi.iqn: Required value",
			},
		},
		{
			Name: "empty namespace of endpoints", Reason: "a namespace that is set has a name",
			Object: volume(corev1.PersistentVolumeSource{Glusterfs: &corev1.GlusterfsPersistentVolumeSource{
				EndpointsName: "e", Path: "p", EndpointsNamespace: ptr.To("")}}),
			Want: []string{`spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name`},
		},
	})
}

func TestPersistentVolumeColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "deleted", Reason: "a deleted volume is shown as Terminating in any phase",
			Object: &corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: registrytest.MonthAgo(),
					DeletionTimestamp: ptr.To(registrytest.MonthAgo())},
				Spec: corev1.PersistentVolumeSpec{
					Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")},
					ClaimRef: &corev1.ObjectReference{Namespace: "ns", Name: "claim"}, StorageClassName: "fast",
					PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, VolumeMode: ptr.To(corev1.PersistentVolumeBlock),
				},
				Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
			},
			Want: []any{"x", "5Gi", "", "Retain", "Terminating", "ns/claim", "fast", "<unset>", "", "30d", "Block"},
		},
	})
}

func TestPersistentVolumeWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "deprecated settings", Reason: "two annotations, the reclaim policy and the plugin are deprecated",
			Object: &corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.BetaStorageClassAnnotation: "x", corev1.MountOptionAnnotation: "x"}},
				Spec: corev1.PersistentVolumeSpec{
					PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRecycle,
					PersistentVolumeSource:        corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{}},
				},
			},
			Want: []string{
				`metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead`,
				`metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead`,
				"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
				"spec.rbd: deprecated in v1.28, non-functional in v1.31+",
			},
		},
	})
}

// TestPersistentVolumePhase checks the phase of a new volume, and status.lastPhaseTransitionTime after a change of the
// phase.
func TestPersistentVolumePhase(t *testing.T) {
	t.Parallel()
	volume := &corev1.PersistentVolume{Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound}}
	s := registrytest.Strategy(t, registrytest.Table(t, Group), volume)
	s.PrepareForCreate(context.Background(), volume)
	if volume.Status.Phase != corev1.VolumePending || volume.Status.LastPhaseTransitionTime == nil {
		t.Errorf("a created volume has status %+v, want a pending volume with a transition time", volume.Status)
	}
	long := metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	volume.Status.LastPhaseTransitionTime = &long
	bound := volume.DeepCopy()
	bound.Status.Phase = corev1.VolumeBound
	registry.StatusStrategy{Strategy: s}.PrepareForUpdate(context.Background(), bound, volume)
	if bound.Status.LastPhaseTransitionTime.Equal(&long) {
		t.Error("a change of the phase keeps the time of the last change")
	}
}
