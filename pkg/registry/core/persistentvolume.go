package core

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// persistentVolumeKind is the row of persistentvolumes in the server's table of kinds.
var persistentVolumeKind = registry.Kind{
	Resource:   "persistentvolumes",
	ShortNames: []string{"pv"},
	Object:     &corev1.PersistentVolume{}, List: &corev1.PersistentVolumeList{},
	Defaults:      []registry.Default{registry.DefaultOf(defaultPersistentVolume)},
	Status:        true,
	ReturnDeleted: true,
	Printer:       &persistentVolumeColumns,
	Hooks: registry.HooksOf[*corev1.PersistentVolume]{
		PrepareForCreate:       startVolumePhase,
		PrepareForStatusUpdate: timeVolumePhase,
		Validate:               validatePersistentVolume,
		ValidateUpdate:         validatePersistentVolumeUpdate,
		ValidateStatusUpdate:   validatePersistentVolumeStatusUpdate,
		Warnings:               persistentVolumeWarnings,
	},
	Gated: []registry.Gate{registry.GateOf[corev1.PersistentVolume]("VolumeAttributesClass", "Spec.VolumeAttributesClassName")},
}

func defaultPersistentVolume(v *corev1.PersistentVolume) {
	defaults.Zero(&v.Status.Phase, corev1.VolumePending)
	defaults.Zero(&v.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	defaults.Pointer(&v.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	defaults.VolumeSpec(&v.Spec)
}

// validatePersistentVolume checks a new volume.
func validatePersistentVolume(o *corev1.PersistentVolume) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(podvalidation.PersistentVolumeSpec(field.NewPath("spec"), &o.Spec, o.Name, false), mountOptions(o))
	return f.Errs
}

// validatePersistentVolumeUpdate checks an update of a volume. The source of a volume can't change, but an update may
// add a missing secret for expansion.
func validatePersistentVolumeUpdate(o, old *corev1.PersistentVolume) field.ErrorList {
	f := validation.Findings{Errs: validatePersistentVolume(o)}
	f.Merge(validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain).Errs,
		podvalidation.PersistentVolumeSpec(field.NewPath("spec"), &o.Spec, o.Name, false))
	now, was := o.Spec.PersistentVolumeSource, old.Spec.PersistentVolumeSource
	if now.CSI != nil && was.CSI != nil && was.CSI.ControllerExpandSecretRef == nil {
		// The source of a volume can't change, with one exception: an update may set the secret for expansion.
		now.CSI = now.CSI.DeepCopy()
		now.CSI.ControllerExpandSecretRef = nil
	}
	if !apiequality.Semantic.DeepEqual(now, was) {
		f.Add(field.Forbidden(field.NewPath("spec", "persistentvolumesource"),
			fmt.Sprintf("spec.persistentvolumesource is immutable after creation\n%v", validation.Difference(was, now))))
	}
	f.Merge(validation.Unchanged(field.NewPath("volumeMode"), o.Spec.VolumeMode, old.Spec.VolumeMode))
	if old.Spec.NodeAffinity != nil && !sameAffinity(o.Spec.NodeAffinity, old.Spec.NodeAffinity) {
		f.Add(field.Invalid(field.NewPath("nodeAffinity"), validation.Unversioned(o.Spec.NodeAffinity),
			apivalidation.FieldImmutableErrorMsg+", except for updating from beta label to GA"))
	}
	f.Merge(keepsAttributesClass(o.Spec.VolumeAttributesClassName, old.Spec.VolumeAttributesClassName))
	return f.Errs
}

// validatePersistentVolumeStatusUpdate checks the metadata of an update of the status. Every status is valid.
func validatePersistentVolumeStatusUpdate(o, old *corev1.PersistentVolume) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.AddIf(o.ResourceVersion == "", field.Required(field.NewPath("resourceVersion"), ""))
	return f.Errs
}

// newLabels maps the beta names of some node labels to their current names.
var newLabels = map[string]string{
	corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
	corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
	"beta.kubernetes.io/os":             corev1.LabelOSStable,
	"beta.kubernetes.io/arch":           corev1.LabelArchStable,
	corev1.LabelInstanceType:            corev1.LabelInstanceTypeStable,
}

// sameAffinity compares two node affinities. A change from the beta name of a label to its current name doesn't count
// as a difference.
func sameAffinity(now, was *corev1.VolumeNodeAffinity) bool {
	if now == nil || now.Required == nil || was.Required == nil ||
		len(now.Required.NodeSelectorTerms) != len(was.Required.NodeSelectorTerms) {
		return apiequality.Semantic.DeepEqual(now, was)
	}
	was = was.DeepCopy()
	for i, term := range was.Required.NodeSelectorTerms {
		expressions := now.Required.NodeSelectorTerms[i].MatchExpressions
		for j := range min(len(term.MatchExpressions), len(expressions)) {
			if key := &term.MatchExpressions[j].Key; newLabels[*key] == expressions[j].Key {
				*key = expressions[j].Key
			}
		}
	}
	return apiequality.Semantic.DeepEqual(now, was)
}

// mountOptions checks the annotation with mount options: the source of the volume must support them.
func mountOptions(o *corev1.PersistentVolume) field.ErrorList {
	if _, ok := o.Annotations[corev1.MountOptionAnnotation]; !ok {
		return nil
	}
	s := &o.Spec
	if s.GCEPersistentDisk != nil || s.AWSElasticBlockStore != nil || s.Glusterfs != nil || s.NFS != nil || s.RBD != nil ||
		s.Quobyte != nil || s.ISCSI != nil || s.Cinder != nil || s.CephFS != nil || s.AzureFile != nil ||
		s.VsphereVolume != nil || s.AzureDisk != nil || s.PhotonPersistentDisk != nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(validation.MetadataPath.Child("annotations", corev1.MountOptionAnnotation),
		"may not specify mount options for this volume type")}
}

// startVolumePhase gives a new volume the phase Pending.
func startVolumePhase(_ context.Context, v *corev1.PersistentVolume) {
	now := metav1.Now()
	v.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
}

// timeVolumePhase sets lastPhaseTransitionTime, unless the client has set a new time. The time is now if the phase
// changes. Otherwise it is the stored time.
func timeVolumePhase(_ context.Context, v, old *corev1.PersistentVolume) {
	given, was := v.Status.LastPhaseTransitionTime, old.Status.LastPhaseTransitionTime
	switch samePhase := v.Status.Phase == old.Status.Phase; {
	case samePhase && given == nil:
		v.Status.LastPhaseTransitionTime = was
	case !samePhase && (given == nil || given.Equal(was)):
		now := metav1.Now()
		v.Status.LastPhaseTransitionTime = &now
	}
}

// persistentVolumeColumns makes the rows of kubectl get. They show the properties of a volume and its claim.
var persistentVolumeColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Capacity", printers.Doc(corev1.PersistentVolumeSpec{}, "capacity")),
		printers.Text("Access Modes", printers.Doc(corev1.PersistentVolumeSpec{}, "accessModes")),
		printers.Text("Reclaim Policy", printers.Doc(corev1.PersistentVolumeSpec{}, "persistentVolumeReclaimPolicy")),
		printers.Text("Status", printers.Doc(corev1.PersistentVolumeStatus{}, "phase")),
		printers.Text("Claim", printers.Doc(corev1.PersistentVolumeSpec{}, "claimRef")),
		printers.Text("StorageClass", "StorageClass of the pv"),
		printers.Text("VolumeAttributesClass", "VolumeAttributesClass of the pv"),
		printers.Text("Reason", printers.Doc(corev1.PersistentVolumeStatus{}, "reason")),
		printers.AgeColumn,
		printers.Wide(printers.Text("VolumeMode", printers.Doc(corev1.PersistentVolumeSpec{}, "volumeMode"))),
	},
	func(pv *corev1.PersistentVolume) []any {
		claim := ""
		if ref := pv.Spec.ClaimRef; ref != nil {
			claim = ref.Namespace + "/" + ref.Name
		}
		return []any{
			pv.Name, pv.Spec.Capacity.Storage().String(), accessModes(pv.Spec.AccessModes),
			string(pv.Spec.PersistentVolumeReclaimPolicy), unlessDeleted(&pv.ObjectMeta, string(pv.Status.Phase)), claim,
			volume.GetPersistentVolumeClass(pv), ptr.Deref(pv.Spec.VolumeAttributesClassName, printers.Unset),
			pv.Status.Reason, printers.Since(pv.CreationTimestamp), string(ptr.Deref(pv.Spec.VolumeMode, printers.Unset)),
		}
	})

func persistentVolumeWarnings(_ context.Context, pv, _ *corev1.PersistentVolume) []string {
	var l warnings.List
	for _, deprecated := range []struct{ key, message string }{
		{corev1.BetaStorageClassAnnotation, storageClassMessage},
		{corev1.MountOptionAnnotation, `deprecated since v1.31; use "mountOptions" attribute instead`},
	} {
		if _, ok := pv.Annotations[deprecated.key]; ok {
			l.At(field.NewPath("metadata", "annotations").Key(deprecated.key), "%s", deprecated.message)
		}
	}
	if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		l.At(warnings.SpecPath.Child("persistentVolumeReclaimPolicy"),
			"The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
	}
	if a := pv.Spec.NodeAffinity; a != nil && a.Required != nil {
		for i := range a.Required.NodeSelectorTerms {
			path := warnings.SpecPath.Child("nodeAffinity", "required", "nodeSelectorTerms").Index(i)
			l.NodeSelectorTerm(path, &a.Required.NodeSelectorTerms[i], false)
		}
	}
	for _, plugin := range []struct {
		used           bool
		field, message string
	}{
		{pv.Spec.CephFS != nil, "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
		{pv.Spec.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
		{pv.Spec.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
		{pv.Spec.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
		{pv.Spec.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
		{pv.Spec.RBD != nil, "rbd", "deprecated in v1.28, non-functional in v1.31+"},
	} {
		if plugin.used {
			l.At(warnings.SpecPath.Child(plugin.field), "%s", plugin.message)
		}
	}
	return l
}

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
