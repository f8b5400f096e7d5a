package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// claimOf returns a claim that requests storage of a size, after the function change has changed the claim.
func claimOf(size string, change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	o := &corev1.PersistentVolumeClaim{ObjectMeta: registrytest.Stored("claim"), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		StorageClassName: ptr.To("fast"),
		Resources:        corev1.VolumeResourceRequirements{Requests: registrytest.Quantities("storage", size)},
	}}
	change(o)
	return o
}

// boundClaim binds a claim to a volume of 2 GiB.
func boundClaim(o *corev1.PersistentVolumeClaim) {
	o.Status.Phase = corev1.ClaimBound
	o.Status.Capacity = registrytest.Quantities("storage", "2Gi")
}

// attributesClass binds a claim that has a volume attributes class. The argument "applied" is the class that the driver
// has applied to the volume.
func attributesClass(name string, applied *string) func(*corev1.PersistentVolumeClaim) {
	return func(o *corev1.PersistentVolumeClaim) {
		boundClaim(o)
		o.Spec.VolumeAttributesClassName, o.Status.CurrentVolumeAttributesClassName = &name, applied
	}
}

// TestPersistentVolumeClaimDifference checks that the error about a changed spec shows the changed lines, with the
// field names of kube-apiserver's internal types.
func TestPersistentVolumeClaimDifference(t *testing.T) {
	t.Parallel()
	claim := func(mode corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: registrytest.Stored("c"), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{mode},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
	}
	registrytest.WantErrors(t, "the error shows the user the changed lines",
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

func TestPersistentVolumeClaimColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "bound", Reason: "capacity and access modes come from the status, and the modes have a fixed order",
			Object: &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: registrytest.MonthAgo(),
					Annotations: map[string]string{corev1.BetaStorageClassAnnotation: "old"}},
				Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv", StorageClassName: ptr.To("new")},
				Status: corev1.PersistentVolumeClaimStatus{
					Phase:       corev1.ClaimBound,
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteMany},
					Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
				},
			},
			Want: []any{"x", "Bound", "pv", "1Gi", "RWO,RWX", "old", "<unset>", "30d", "<unset>"},
		},
		{
			Name: "pending", Reason: "a claim without a volume shows no access modes, although the spec requests access modes",
			Object: &corev1.PersistentVolumeClaim{
				ObjectMeta: registrytest.MonthOld("x"),
				Spec:       corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
				Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
			},
			Want: []any{"x", "Pending", "", "", "", "", "<unset>", "30d", "<unset>"},
		},
	})
}

func TestPersistentVolumeClaimWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "fraction of a byte", Reason: "storage is counted in whole bytes",
			Object: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
				Resources: corev1.VolumeResourceRequirements{Limits: corev1.ResourceList{"storage": resource.MustParse("1m")}},
			}},
			Want: []string{`spec.resources.limits[storage]: fractional byte value "1m" is invalid, must be an integer`},
		},
	})
}

func TestPersistentVolumeClaimErrors(t *testing.T) {
	t.Parallel()
	copyOf := func(group string) func(*corev1.PersistentVolumeClaim) {
		return func(o *corev1.PersistentVolumeClaim) {
			o.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: &group, Kind: "K", Name: "n"}
		}
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "larger", Reason: "a bound claim can request more storage",
			Object: claimOf("3Gi", boundClaim),
			Old:    claimOf("2Gi", boundClaim),
		},
		{
			Name: "smaller", Reason: "a bound claim can't request less storage than the capacity of its volume",
			Object: claimOf("1Gi", boundClaim),
			Old:    claimOf("3Gi", boundClaim),
			Want:   []string{"spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"},
		},
		{
			Name: "no volume attributes class", Reason: "no driver has applied the class, so an update can remove the class",
			Object: claimOf("1Gi", boundClaim),
			Old:    claimOf("1Gi", attributesClass("gold", nil)),
		},
		{
			Name: "removed volume attributes class", Reason: "a driver has applied the class (KEP-3751)",
			Object: claimOf("1Gi", boundClaim),
			Old:    claimOf("1Gi", attributesClass("gold", ptr.To("gold"))),
			Want:   []string{"spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when status.currentVolumeAttributesClassName is not nil"},
		},
		{
			Name: "empty volume attributes class", Reason: "an empty class is no class",
			Object: claimOf("1Gi", attributesClass("", ptr.To("gold"))),
			Old:    claimOf("1Gi", attributesClass("gold", ptr.To("gold"))),
			Want:   []string{"spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil"},
		},
		{
			Name: "update", Reason: "an update checks the metadata first, and the spec once",
			Object: claimOf("1Gi", func(o *corev1.PersistentVolumeClaim) {
				o.UID, o.Spec.AccessModes = "other", nil
			}),
			Old: claimOf("1Gi", func(o *corev1.PersistentVolumeClaim) { o.UID, o.Spec.AccessModes = "uid", nil }),
			Want: []string{
				`metadata.uid: Invalid value: "other": field is immutable`,
				"spec.accessModes: Required value: at least 1 access mode is required",
			},
		},
		{
			Name: "stored API group", Reason: "an earlier server stored any API group",
			Object: claimOf("1Gi", copyOf("A")),
			Old:    claimOf("1Gi", copyOf("A")),
		},
		{
			Name: "new API group", Reason: "an API group has the form of a DNS name",
			Object: claimOf("1Gi", copyOf("A")),
			Want: []string{`spec.dataSourceRef.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ` +
				`characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		},
		{
			Name: "unknown state of a resize", Reason: "the error has the path of the map and the name of the resource",
			Object: claimOf("1Gi", func(o *corev1.PersistentVolumeClaim) {
				o.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{"storage": "x"}
			}),
			Old:    claimOf("1Gi", boundClaim),
			Status: true,
			Want: []string{`status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "ControllerResizeInProgress", ` +
				`"ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"`},
		},
	})
}

func TestPersistentVolumeClaimCreation(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "from a snapshot", Reason: "dataSource sets dataSourceRef (KEP-1495)",
			Object: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
				DataSource: &corev1.TypedLocalObjectReference{APIGroup: ptr.To("snapshot.storage.k8s.io"),
					Kind: "VolumeSnapshot", Name: "s"},
			}},
			Want: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
				DataSource: &corev1.TypedLocalObjectReference{APIGroup: ptr.To("snapshot.storage.k8s.io"),
					Kind: "VolumeSnapshot", Name: "s"},
				DataSourceRef: &corev1.TypedObjectReference{APIGroup: ptr.To("snapshot.storage.k8s.io"),
					Kind: "VolumeSnapshot", Name: "s"},
			}},
		},
		{
			Name:   "from another kind",
			Reason: "dataSource takes snapshots and claims only, and the server drops other kinds without an error",
			Object: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
				DataSource: &corev1.TypedLocalObjectReference{APIGroup: ptr.To("example.com"), Kind: "Populator", Name: "p"},
			}},
			Want: &corev1.PersistentVolumeClaim{},
		},
		{
			Name: "bound", Reason: "the server ignores the status of the request",
			Object: &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}},
			Want:   &corev1.PersistentVolumeClaim{},
		},
		{
			Name: "from another namespace", Reason: "the feature gate CrossNamespaceVolumeDataSource is off",
			Object: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
				DataSourceRef: &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "c", Namespace: ptr.To("other")},
			}},
			Want: &corev1.PersistentVolumeClaim{},
		},
		{
			Name: "from another namespace or kind", Reason: "the server drops dataSourceRef first, so dataSource stands alone",
			Object: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
				DataSource:    &corev1.TypedLocalObjectReference{APIGroup: ptr.To("example.com"), Kind: "Populator", Name: "p"},
				DataSourceRef: &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "c", Namespace: ptr.To("other")},
			}},
			Want: &corev1.PersistentVolumeClaim{},
		},
	})
}
