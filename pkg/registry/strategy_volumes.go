package registry

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

var persistentVolumeHooks = HooksOf[*corev1.PersistentVolume]{
	PrepareForCreate: func(_ context.Context, v *corev1.PersistentVolume) {
		now := metav1.Now()
		v.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
	},
	PrepareForStatusUpdate: func(_ context.Context, v, old *corev1.PersistentVolume) {
		given, was := v.Status.LastPhaseTransitionTime, old.Status.LastPhaseTransitionTime
		switch samePhase := v.Status.Phase == old.Status.Phase; {
		case samePhase && given == nil:
			v.Status.LastPhaseTransitionTime = was
		case !samePhase && (given == nil || given.Equal(was)):
			now := metav1.Now()
			v.Status.LastPhaseTransitionTime = &now
		}
	},
	Validate:             validation.PersistentVolume,
	ValidateUpdate:       validation.PersistentVolumeUpdate,
	ValidateStatusUpdate: validation.PersistentVolumeStatusUpdate,
	Warnings:             warnings.PersistentVolume,
}

var persistentVolumeClaimHooks = HooksOf[*corev1.PersistentVolumeClaim]{
	PrepareForCreate: func(_ context.Context, c *corev1.PersistentVolumeClaim) {
		dropUnknownDataSource(&c.Spec)
		dropOtherNamespace(&c.Spec)
		sameDataSources(&c.Spec)
	},
	PrepareForUpdate: func(_ context.Context, c, old *corev1.PersistentVolumeClaim) {
		if old.Spec.DataSource == nil && old.Spec.DataSourceRef == nil {
			dropUnknownDataSource(&c.Spec)
		}
		if old.Spec.DataSourceRef == nil {
			dropOtherNamespace(&c.Spec)
		}
		sameDataSources(&c.Spec)
		// The old claim may be from before there was a dataSourceRef.
		sameDataSources(&old.Spec)
	},
	Validate:             validation.PersistentVolumeClaim,
	ValidateUpdate:       validation.PersistentVolumeClaimUpdate,
	ValidateStatusUpdate: validation.PersistentVolumeClaimStatusUpdate,
	Warnings:             warnings.PersistentVolumeClaim,
}

// csiNodeHooks let nobody say how drivers' storage is: it is new in 1.37, and off.
var csiNodeHooks = HooksOf[*storagev1.CSINode]{
	PrepareForCreate: func(_ context.Context, n *storagev1.CSINode) { n.Status = storagev1.CSINodeStatus{} },
	PrepareForUpdate: func(_ context.Context, n, old *storagev1.CSINode) { n.Status = old.Status },
	Validate:         validation.CSINode,
	ValidateUpdate:   validation.CSINodeUpdate,
}

// countDriverChanges counts, as a driver's generation, the changes that the kubelet goes by.
// It begins with none.
func countDriverChanges(_ context.Context, d, old *storagev1.CSIDriver) {
	now, was := d.Spec, old.Spec
	if !apiequality.Semantic.DeepEqual(now.TokenRequests, was.TokenRequests) ||
		!ptr.Equal(now.RequiresRepublish, was.RequiresRepublish) || !ptr.Equal(now.SELinuxMount, was.SELinuxMount) {
		d.Generation = old.Generation + 1
	}
}

// dropUnknownDataSource drops a dataSource that is neither a claim nor a snapshot.
// Such ones were always ignored, and only dataSourceRef takes them (KEP-1495).
func dropUnknownDataSource(spec *corev1.PersistentVolumeClaimSpec) {
	source := spec.DataSource
	if source == nil || spec.DataSourceRef != nil {
		return
	}
	var group string
	if source.APIGroup != nil {
		group = *source.APIGroup
	}
	claim := source.Kind == "PersistentVolumeClaim" && group == ""
	snapshot := source.Kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io"
	if !claim && !snapshot {
		spec.DataSource = nil
	}
}

// dropOtherNamespace drops a dataSourceRef that names a namespace, which is alpha and off
// (KEP-3294).
func dropOtherNamespace(spec *corev1.PersistentVolumeClaimSpec) {
	if ref := spec.DataSourceRef; ref != nil && ref.Namespace != nil && *ref.Namespace != "" {
		spec.DataSourceRef = nil
	}
}

// sameDataSources copies dataSource and dataSourceRef to each other, unless the latter
// is in another namespace, which the former has no words for.
func sameDataSources(spec *corev1.PersistentVolumeClaimSpec) {
	source, ref := spec.DataSource, spec.DataSourceRef
	switch {
	case source == nil && ref != nil && (ref.Namespace == nil || *ref.Namespace == ""):
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}
	case source != nil && ref == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
	}
}
