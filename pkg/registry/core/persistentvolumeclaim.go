package core

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// persistentVolumeClaimKind is the row of persistentvolumeclaims in the server's table of kinds.
var persistentVolumeClaimKind = registry.Kind{
	Resource:   "persistentvolumeclaims",
	ShortNames: []string{"pvc"},
	Namespaced: true,
	Object:     &corev1.PersistentVolumeClaim{}, List: &corev1.PersistentVolumeClaimList{},
	Defaults:      []registry.Default{registry.DefaultOf(defaults.PersistentVolumeClaim)},
	Status:        true,
	ReturnDeleted: true,
	Printer:       &persistentVolumeClaimColumns,
	Hooks: registry.HooksOf[*corev1.PersistentVolumeClaim]{
		PrepareForCreate:     prepareDataSources,
		PrepareForUpdate:     prepareUpdatedDataSources,
		Validate:             validatePersistentVolumeClaim,
		ValidateUpdate:       validatePersistentVolumeClaimUpdate,
		ValidateStatusUpdate: validatePersistentVolumeClaimStatusUpdate,
		Warnings:             persistentVolumeClaimWarnings,
	},
	Gated: []registry.Gate{
		registry.GateOf[corev1.PersistentVolumeClaim]("CSIVolumeHealth", "Status.HealthStatus"),
		registry.GateOf[corev1.PersistentVolumeClaim]("VolumeAttributesClass", "Spec.VolumeAttributesClassName"),
		registry.GateOf[corev1.PersistentVolumeClaim]("VolumeAttributesClass", "Status.CurrentVolumeAttributesClassName"),
		registry.GateOf[corev1.PersistentVolumeClaim]("VolumeAttributesClass", "Status.ModifyVolumeStatus"),
		otherNamespace,
	},
}

// validatePersistentVolumeClaim checks a new claim.
func validatePersistentVolumeClaim(o *corev1.PersistentVolumeClaim) field.ErrorList {
	return persistentVolumeClaim(o, nil)
}

func persistentVolumeClaim(o *corev1.PersistentVolumeClaim, old *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(podvalidation.PersistentVolumeClaimSpec(field.NewPath("spec"), &o.Spec, old))
	return f.Errs
}

// validatePersistentVolumeClaimUpdate checks an update of a claim. The spec can change only if the claim gets its
// volume, requests another size, gets another volume attributes class, or gets its first storage class.
func validatePersistentVolumeClaimUpdate(o, old *corev1.PersistentVolumeClaim) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(persistentVolumeClaim(o, &old.Spec))
	now, was := o.DeepCopy(), old.DeepCopy()
	if was.Spec.VolumeName == "" {
		was.Spec.VolumeName = now.Spec.VolumeName
	}
	class, annotation := o.Annotations[corev1.BetaStorageClassAnnotation], old.Annotations[corev1.BetaStorageClassAnnotation]
	takesOver := takesOverClass(o, old)
	f.AddIf(class != annotation && (!takesOver || annotation == "" || class != ""), field.Invalid(
		validation.MetadataPath.Child("annotations", corev1.BetaStorageClassAnnotation), class, apivalidation.FieldImmutableErrorMsg))
	if takesOver {
		now.Spec.StorageClassName = nil
	}
	const storage = corev1.ResourceStorage
	if now.Status.Phase == corev1.ClaimBound && now.Spec.Resources.Requests != nil {
		now.Spec.Resources.Requests[storage] = old.Spec.Resources.Requests[storage]
	}
	if now.Status.Phase == corev1.ClaimBound {
		now.Spec.VolumeAttributesClassName = was.Spec.VolumeAttributesClassName
	}
	if !apiequality.Semantic.DeepEqual(now.Spec, was.Spec) {
		f.Add(field.Forbidden(field.NewPath("spec"), fmt.Sprintf("spec is immutable after creation except "+
			"resources.requests and volumeAttributesClassName for bound claims\n%v", validation.Difference(was.Spec, now.Spec))))
	}
	size, before, actual := o.Spec.Resources.Requests[storage], old.Spec.Resources.Requests[storage], old.Status.Capacity[storage]
	f.AddIf(size.Cmp(before) < 0 && size.Cmp(actual) <= 0, field.Forbidden(
		field.NewPath("spec", "resources", "requests", "storage"), "field can not be less than status.capacity"))
	f.Merge(validation.Unchanged(field.NewPath("volumeMode"), o.Spec.VolumeMode, old.Spec.VolumeMode))
	f.Merge(keepsCurrentAttributesClass(o, old))
	return f.Errs
}

// validatePersistentVolumeClaimStatusUpdate checks the status that a volume controller writes.
func validatePersistentVolumeClaimStatusUpdate(o, old *corev1.PersistentVolumeClaim) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.AddIf(o.ResourceVersion == "", field.Required(field.NewPath("resourceVersion"), ""))
	f.AddIf(len(o.Spec.AccessModes) == 0, field.Required(field.NewPath("Spec", "accessModes"), ""))
	for name, amount := range validation.Sorted(o.Status.Capacity) {
		f.Merge(podvalidation.BasicQuantity(field.NewPath("status", "capacity").Key(string(name)), amount))
	}
	path := field.NewPath("status", "allocatedResourceStatuses")
	for name, status := range validation.Sorted(o.Status.AllocatedResourceStatuses) {
		f.Merge(claimResource(path, name))
		if !slices.Contains(resizeStatuses, status) {
			f.Add(field.NotSupported(path, name, resizeStatuses))
		}
	}
	path = field.NewPath("status", "allocatedResources")
	for name, amount := range validation.Sorted(o.Status.AllocatedResources) {
		errs := claimResource(path, name)
		if len(errs) == 0 {
			errs = podvalidation.BasicQuantity(path.Key(string(name)), amount)
		}
		f.Merge(errs)
	}
	return f.Errs
}

// resizeStatuses are the known states of a volume expansion (KEP-1790).
var resizeStatuses = []corev1.ClaimResourceStatus{
	corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizePending,
}

// claimResource checks the name of a resource in a claim's status: storage, or a name with a driver's domain.
func claimResource(path *field.Path, name corev1.ResourceName) field.ErrorList {
	if errs := validation.Qualified(path, string(name)); len(errs) > 0 {
		return errs
	}
	if podspec.IsNativeResource(name) && name != corev1.ResourceStorage {
		return field.ErrorList{field.NotSupported(path, string(name), []corev1.ResourceName{corev1.ResourceStorage})}
	}
	return nil
}

// takesOverClass reports whether the update sets the storage class of a claim without a storage class (KEP-3333).
// If the claim has the deprecated annotation, the class must be the one in the annotation.
func takesOverClass(o, old *corev1.PersistentVolumeClaim) bool {
	class := o.Spec.StorageClassName
	if class == nil || old.Spec.StorageClassName != nil {
		return false
	}
	annotation, annotated := old.Annotations[corev1.BetaStorageClassAnnotation]
	return !annotated || annotation == *class
}

// prepareDataSources prepares the data sources of a new claim. It drops a dataSource of an unknown kind unless the client
// sets dataSourceRef too. If only one of the two fields is left, it copies this field to the other field.
func prepareDataSources(_ context.Context, c *corev1.PersistentVolumeClaim) {
	dropUnknownDataSource(&c.Spec)
	sameDataSources(&c.Spec)
}

// prepareUpdatedDataSources prepares the data sources of an updated claim. It drops an unknown dataSource only if the
// stored claim has no data source.
func prepareUpdatedDataSources(_ context.Context, c, old *corev1.PersistentVolumeClaim) {
	if old.Spec.DataSource == nil && old.Spec.DataSourceRef == nil {
		dropUnknownDataSource(&c.Spec)
	}
	sameDataSources(&c.Spec)
	// The claim may have been stored before dataSourceRef existed.
	sameDataSources(&old.Spec)
}

// dropUnknownDataSource drops a dataSource that is neither a claim nor a snapshot, unless dataSourceRef is set too.
// Only dataSourceRef can refer to other kinds (KEP-1495).
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

// otherNamespace is the gate of data sources in other namespaces (KEP-3294). It drops the whole dataSourceRef, if that
// has a namespace. Every dataSourceRef of the stored claim counts as a use.
var otherNamespace = registry.GateBy("CrossNamespaceVolumeDataSource",
	func(c *corev1.PersistentVolumeClaim) bool { return c.Spec.DataSourceRef != nil },
	func(c *corev1.PersistentVolumeClaim) {
		if ref := c.Spec.DataSourceRef; ref != nil && ptr.Deref(ref.Namespace, "") != "" {
			c.Spec.DataSourceRef = nil
		}
	},
	"Spec.DataSourceRef.Namespace")

// sameDataSources copies dataSource to dataSourceRef, or the reverse, if only one of them is set. A dataSourceRef
// with a namespace isn't copied, because dataSource has no such field.
func sameDataSources(spec *corev1.PersistentVolumeClaimSpec) {
	source, ref := spec.DataSource, spec.DataSourceRef
	switch {
	case source == nil && ref != nil && (ref.Namespace == nil || *ref.Namespace == ""):
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}
	case source != nil && ref == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
	}
}

// persistentVolumeClaimColumns makes the rows of kubectl get. They show the volume that the claim is bound to.
var persistentVolumeClaimColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Status", printers.Doc(corev1.PersistentVolumeClaimStatus{}, "phase")),
		printers.Text("Volume", printers.Doc(corev1.PersistentVolumeClaimSpec{}, "volumeName")),
		printers.Text("Capacity", printers.Doc(corev1.PersistentVolumeClaimStatus{}, "capacity")),
		printers.Text("Access Modes", printers.Doc(corev1.PersistentVolumeClaimStatus{}, "accessModes")),
		printers.Text("StorageClass", "StorageClass of the pvc"),
		printers.Text("VolumeAttributesClass", "VolumeAttributesClass of the pvc"),
		printers.AgeColumn,
		printers.Wide(printers.Text("VolumeMode", printers.Doc(corev1.PersistentVolumeClaimSpec{}, "volumeMode"))),
	},
	func(pvc *corev1.PersistentVolumeClaim) []any {
		capacity, modes := "", ""
		if pvc.Spec.VolumeName != "" {
			capacity, modes = pvc.Status.Capacity.Storage().String(), accessModes(pvc.Status.AccessModes)
		}
		return []any{
			pvc.Name, unlessDeleted(&pvc.ObjectMeta, string(pvc.Status.Phase)), pvc.Spec.VolumeName, capacity, modes,
			volume.GetPersistentVolumeClaimClass(pvc), ptr.Deref(pvc.Spec.VolumeAttributesClassName, printers.Unset),
			printers.Since(pvc.CreationTimestamp), string(ptr.Deref(pvc.Spec.VolumeMode, printers.Unset)),
		}
	})

func persistentVolumeClaimWarnings(_ context.Context, pvc, _ *corev1.PersistentVolumeClaim) []string {
	var l warnings.List
	if _, ok := pvc.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		l.At(field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation), storageClassMessage)
	}
	l.Claim(warnings.SpecPath, &pvc.Spec)
	return l
}
