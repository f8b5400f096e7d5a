package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

// PersistentVolumeClaim checks a new claim.
func PersistentVolumeClaim(o *corev1.PersistentVolumeClaim) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(PersistentVolumeClaimSpec(field.NewPath("spec"), &o.Spec))
	return f.Errs
}

// PersistentVolumeClaimUpdate checks a claim that replaces another: a claim's spec
// changes when it is bound, grows, or takes another class of volume attributes.
func PersistentVolumeClaimUpdate(o, old *corev1.PersistentVolumeClaim) field.ErrorList {
	f := Findings{PersistentVolumeClaim(o)}
	f.Merge(Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, f.Errs)
	now, was := o.DeepCopy(), old.DeepCopy()
	if was.Spec.VolumeName == "" {
		was.Spec.VolumeName = now.Spec.VolumeName
	}
	class, annotation := o.Annotations[corev1.BetaStorageClassAnnotation], old.Annotations[corev1.BetaStorageClassAnnotation]
	takesOver := takesOverClass(o, old)
	f.AddIf(class != annotation && (!takesOver || annotation == "" || class != ""), field.Invalid(
		MetadataPath.Child("annotations", corev1.BetaStorageClassAnnotation), class, apivalidation.FieldImmutableErrorMsg))
	if takesOver {
		now.Spec.StorageClassName = nil
	}
	const storage = corev1.ResourceStorage
	if now.Status.Phase == corev1.ClaimBound && now.Spec.Resources.Requests != nil {
		now.Spec.Resources.Requests[storage] = old.Spec.Resources.Requests[storage]
	}
	if now.Status.Phase == corev1.ClaimBound && now.Spec.VolumeAttributesClassName != nil {
		now.Spec.VolumeAttributesClassName = was.Spec.VolumeAttributesClassName
	}
	if !apiequality.Semantic.DeepEqual(now.Spec, was.Spec) {
		f.Add(field.Forbidden(field.NewPath("spec"), fmt.Sprintf("spec is immutable after creation except "+
			"resources.requests and volumeAttributesClassName for bound claims\n%v", Difference(was.Spec, now.Spec))))
	}
	size, before, actual := o.Spec.Resources.Requests[storage], old.Spec.Resources.Requests[storage], old.Status.Capacity[storage]
	f.AddIf(size.Cmp(before) < 0 && size.Cmp(actual) <= 0, field.Forbidden(
		field.NewPath("spec", "resources", "requests", "storage"), "field can not be less than status.capacity"))
	f.Merge(Unchanged(field.NewPath("volumeMode"), o.Spec.VolumeMode, old.Spec.VolumeMode))
	f.Merge(keepsAttributesClass(o.Spec.VolumeAttributesClassName, old.Spec.VolumeAttributesClassName, true))
	return f.Errs
}

// PersistentVolumeClaimStatusUpdate checks what a volume controller reports.
func PersistentVolumeClaimStatusUpdate(o, old *corev1.PersistentVolumeClaim) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.AddIf(o.ResourceVersion == "", field.Required(field.NewPath("resourceVersion"), ""))
	f.AddIf(len(o.Spec.AccessModes) == 0, field.Required(field.NewPath("Spec", "accessModes"), ""))
	for name, amount := range Sorted(o.Status.Capacity) {
		f.Merge(BasicQuantity(field.NewPath("status", "capacity").Key(string(name)), amount))
	}
	path := field.NewPath("status", "allocatedResourceStatus")
	for name, status := range Sorted(o.Status.AllocatedResourceStatuses) {
		f.Merge(claimResource(path, name))
		if !slices.Contains(resizeStatuses, status) {
			f.Add(field.NotSupported(path, name, resizeStatuses))
		}
	}
	path = field.NewPath("status", "allocatedResources")
	for name, amount := range Sorted(o.Status.AllocatedResources) {
		errs := claimResource(path, name)
		if len(errs) == 0 {
			errs = BasicQuantity(path.Key(string(name)), amount)
		}
		f.Merge(errs)
	}
	return f.Errs
}

// resizeStatuses are how the growth of a volume can stand (KEP-1790).
var resizeStatuses = []corev1.ClaimResourceStatus{
	corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizePending,
}

// claimResource checks a resource that a claim allocates: storage or one of a driver's.
func claimResource(path *field.Path, name corev1.ResourceName) field.ErrorList {
	if errs := Qualified(path, string(name)); len(errs) > 0 {
		return errs
	}
	if podspec.IsNativeResource(name) && name != corev1.ResourceStorage {
		return field.ErrorList{field.NotSupported(path, string(name), []corev1.ResourceName{corev1.ResourceStorage})}
	}
	return nil
}

// keepsAttributesClass checks that a class of attributes is not taken away (KEP-3751).
func keepsAttributesClass(now, was *string, notEmpty bool) field.ErrorList {
	if was == nil || ptr.Equal(now, was) {
		return nil
	}
	var f Findings
	path := field.NewPath("spec", "volumeAttributesClassName")
	f.AddIf(now == nil, field.Forbidden(path, "update from non-nil value to nil is forbidden"))
	f.AddIf(notEmpty && now != nil && *now == "", field.Forbidden(path, "update from non-nil value to an empty string is forbidden"))
	return f.Errs
}

// takesOverClass is whether a claim without a class gets one (KEP-3333), which is that
// of its annotation, if it has one.
func takesOverClass(o, old *corev1.PersistentVolumeClaim) bool {
	class := o.Spec.StorageClassName
	if class == nil || old.Spec.StorageClassName != nil {
		return false
	}
	annotation, annotated := old.Annotations[corev1.BetaStorageClassAnnotation]
	return !annotated || annotation == *class
}

var (
	accessModeNames = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany, corev1.ReadWriteMany,
		corev1.ReadWriteOnce, corev1.ReadWriteOncePod}
	volumeModes = []corev1.PersistentVolumeMode{corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem}
)

// PersistentVolumeClaimSpec checks a claim, or what a template makes claims from.
func PersistentVolumeClaimSpec(path *field.Path, spec *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	var f Findings
	f.AddIf(len(spec.AccessModes) == 0, field.Required(path.Child("accessModes"), "at least 1 access mode is required"))
	f.Merge(LabelSelector(path.Child("selector"), spec.Selector), accessModes(path.Child("accessModes"), spec.AccessModes))

	storage := path.Child("resources").Key(string(corev1.ResourceStorage))
	if amount, ok := spec.Resources.Requests[corev1.ResourceStorage]; !ok {
		f.Add(field.Required(storage, ""))
	} else if errs := positiveQuantity(storage, amount); len(errs) > 0 {
		f.Merge(errs)
	} else {
		f.Merge(ResourceQuantity(storage, corev1.ResourceStorage, amount))
	}
	f.Merge(optionalClass(path.Child("storageClassName"), spec.StorageClassName))
	f.Merge(OptionalOneOf(path.Child("volumeMode"), spec.VolumeMode, volumeModes...))
	f.Merge(claimSources(path, spec))
	f.Merge(optionalClass(path.Child("volumeAttributesClassName"), spec.VolumeAttributesClassName))
	return f.Errs
}

func accessModes(path *field.Path, modes []corev1.PersistentVolumeAccessMode) field.ErrorList {
	var f Findings
	for _, mode := range modes {
		f.Merge(OneOf(path, mode, accessModeNames...))
	}
	single := func(m corev1.PersistentVolumeAccessMode) bool { return m == corev1.ReadWriteOncePod }
	other := func(m corev1.PersistentVolumeAccessMode) bool {
		return !single(m) && slices.Contains(accessModeNames, m)
	}
	f.AddIf(slices.ContainsFunc(modes, single) && slices.ContainsFunc(modes, other),
		field.Forbidden(path, "may not use ReadWriteOncePod with other access modes"))
	return f.Errs
}

func optionalClass(path *field.Path, class *string) field.ErrorList {
	if ptr.Deref(class, "") == "" {
		return nil
	}
	return Follows(Named(apivalidation.NameIsDNSSubdomain), path, *class)
}

// claimSources checks what a volume is to be filled from (KEP-1495, KEP-3294).
func claimSources(path *field.Path, spec *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	var f Findings
	source, ref := spec.DataSource, spec.DataSourceRef
	check := func(path *field.Path, name, kind string, apiGroup *string) {
		group := ptr.Deref(apiGroup, "")
		f.Merge(Present(path, "name", name, "kind", kind))
		f.AddIf(group == "" && kind != "PersistentVolumeClaim", field.Invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
		if group != "" {
			f.Merge(Follows(utilvalidation.IsDNS1123Subdomain, path.Child("apiGroup"), group))
		}
	}
	if source != nil {
		check(path.Child("dataSource"), source.Name, source.Kind, source.APIGroup)
	}
	if ref == nil {
		return f.Errs
	}
	check(path.Child("dataSourceRef"), ref.Name, ref.Kind, ref.APIGroup)
	if ptr.Deref(ref.Namespace, "") != "" {
		f.Merge(Follows(Named(apivalidation.ValidateNamespaceName), path.Child("dataSourceRef", "namespace"), *ref.Namespace))
		f.AddIf(source != nil, field.Invalid(path, path.Child("dataSource"), "may not be specified when dataSourceRef.namespace is specified"))
		return f.Errs
	}
	same := source == nil || (source.Name == ref.Name && source.Kind == ref.Kind && ptr.Equal(source.APIGroup, ref.APIGroup))
	f.AddIf(!same, field.Invalid(path, path.Child("dataSource"), "must match dataSourceRef"))
	return f.Errs
}

func positiveQuantity(path *field.Path, q resource.Quantity) field.ErrorList {
	if q.Sign() > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, q.String(), "must be greater than zero")}
}

// BasicQuantity checks that a quantity is not negative.
func BasicQuantity(path *field.Path, q resource.Quantity) field.ErrorList {
	if q.Value() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, q.Value(), "must be a valid resource quantity")}
}
