package validation

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// StorageClass checks a new class.
func StorageClass(o *storagev1.StorageClass) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(Required(lowerQualified, field.NewPath("provisioner"), o.Provisioner),
		storageParameters(o.Parameters, true))
	if ptr.Deref(o.ReclaimPolicy, "") != "" {
		f.Merge(OneOf(field.NewPath("reclaimPolicy"), *o.ReclaimPolicy,
			corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain))
	}
	mode := field.NewPath("volumeBindingMode")
	f.AddIf(o.VolumeBindingMode == nil, field.Required(mode, ""))
	f.Merge(OptionalOneOf(mode, o.VolumeBindingMode, storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer))
	f.Merge(allowedTopologies(o.AllowedTopologies))
	return f.Errs
}

// StorageClassUpdate checks a class that replaces another: how volumes are made never
// changes.
func StorageClassUpdate(o, old *storagev1.StorageClass) field.ErrorList {
	f := Findings{StorageClass(o)}
	f.Merge(Updated(&o.ObjectMeta, &old.ObjectMeta).Errs)
	f.AddIf(!maps.Equal(o.Parameters, old.Parameters), forbiddenUpdate("parameters"))
	f.AddIf(o.Provisioner != old.Provisioner, forbiddenUpdate("provisioner"))
	f.AddIf(!ptr.Equal(o.ReclaimPolicy, old.ReclaimPolicy), forbiddenUpdate("reclaimPolicy"))
	f.Merge(Unchanged(field.NewPath("volumeBindingMode"), o.VolumeBindingMode, old.VolumeBindingMode))
	return f.Errs
}

// VolumeAttributesClass checks a new class (KEP-3751).
func VolumeAttributesClass(o *storagev1.VolumeAttributesClass) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(Required(lowerQualified, field.NewPath("driverName"), o.DriverName), storageParameters(o.Parameters, false))
	return f.Errs
}

// VolumeAttributesClassUpdate checks a class that replaces another.
func VolumeAttributesClassUpdate(o, old *storagev1.VolumeAttributesClass) field.ErrorList {
	f := Findings{VolumeAttributesClass(o)}
	f.Merge(Updated(&o.ObjectMeta, &old.ObjectMeta).Errs)
	f.AddIf(o.DriverName != old.DriverName, forbiddenUpdate("driverName"))
	f.AddIf(!maps.Equal(o.Parameters, old.Parameters), forbiddenUpdate("parameters"))
	return f.Errs
}

func forbiddenUpdate(name string) *field.Error {
	return field.Forbidden(field.NewPath(name), "updates to "+name+" are forbidden.")
}

func lowerQualified(s string) []string { return utilvalidation.IsQualifiedName(strings.ToLower(s)) }

// The limits of what a class hands to its driver.
const (
	maxStorageParameters     = 512
	maxStorageParametersSize = 256 * 1024
)

func storageParameters(parameters map[string]string, mayBeEmpty bool) field.ErrorList {
	path := field.NewPath("parameters")
	if len(parameters) > maxStorageParameters {
		return field.ErrorList{field.TooLong(path, "", maxStorageParameters)}
	}
	var f Findings
	size := 0
	for k, v := range Sorted(parameters) {
		f.AddIf(k == "", field.Invalid(path, k, "field can not be empty."))
		size += len(k) + len(v)
	}
	f.AddIf(size > maxStorageParametersSize, field.TooLong(path, "", maxStorageParametersSize))
	f.AddIf(!mayBeEmpty && len(parameters) == 0, field.Required(path, "must contain at least one key/value pair"))
	return f.Errs
}

func allowedTopologies(terms []corev1.TopologySelectorTerm) field.ErrorList {
	var f Findings
	seen := make([]map[string]sets.Set[string], 0, len(terms))
	for i, term := range terms {
		expressions := field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions")
		byKey := map[string]sets.Set[string]{}
		for j, r := range term.MatchLabelExpressions {
			path := expressions.Index(j)
			f.AddIf(len(r.Values) == 0, field.Required(path.Child("values"), ""))
			for k, v := range r.Values {
				f.AddIf(slices.Contains(r.Values[:k], v), field.Duplicate(path.Child("values").Index(k), v))
			}
			f.Merge(metav1validation.ValidateLabelName(r.Key, path.Child("key")))
			f.AddIf(byKey[r.Key] != nil, field.Duplicate(path.Child("key"), r.Key))
			byKey[r.Key] = sets.New(r.Values...)
		}
		for _, other := range seen {
			f.AddIf(apiequality.Semantic.DeepEqual(other, byKey), field.Duplicate(expressions, ""))
		}
		seen = append(seen, byKey)
	}
	return f.Errs
}

// VolumeAttachment checks a new attachment.
func VolumeAttachment(o *storagev1.VolumeAttachment) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	spec := field.NewPath("spec")
	f.Merge(CSIDriverName(spec.Child("attacher"), o.Spec.Attacher))
	f.Merge(attachmentSource(&o.Spec.Source, spec.Child("source")))
	f.Merge(Follows(Named(apivalidation.NameIsDNSSubdomain), spec.Child("nodeName"), o.Spec.NodeName))
	status := field.NewPath("status")
	f.Merge(attachmentMetadata(status.Child("attachmentMetadata"), o.Status.AttachmentMetadata),
		volumeError(status.Child("attachError"), o.Status.AttachError), volumeError(status.Child("detachError"), o.Status.DetachError))
	if name := o.Spec.Source.PersistentVolumeName; name != nil {
		path := spec.Child("source", "persistentVolumeName")
		f.Merge(Required(Named(apivalidation.NameIsDNSSubdomain), path, *name))
	}
	return f.Errs
}

// VolumeAttachmentUpdate checks an attachment that replaces another.
func VolumeAttachmentUpdate(o, old *storagev1.VolumeAttachment) field.ErrorList {
	f := Findings{VolumeAttachment(o)}
	f.AddIf(!apiequality.Semantic.DeepEqual(o.Spec, old.Spec), field.Invalid(field.NewPath("spec"), Unversioned(o.Spec), "field is immutable"))
	return f.Errs
}

func attachmentSource(s *storagev1.VolumeAttachmentSource, path *field.Path) field.ErrorList {
	switch {
	case s.InlineVolumeSpec == nil && s.PersistentVolumeName == nil:
		return field.ErrorList{field.Required(path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")}
	case s.InlineVolumeSpec != nil && s.PersistentVolumeName != nil:
		return field.ErrorList{field.Forbidden(path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")}
	case s.PersistentVolumeName != nil:
		return Required(Named(apivalidation.NameIsDNSSubdomain), path.Child("persistentVolumeName"), *s.PersistentVolumeName)
	default:
		return PersistentVolumeSpec(path.Child("inlineVolumeSpec"), s.InlineVolumeSpec, "", true)
	}
}

// The sizes of what a volume's driver reports.
const (
	maxAttachedMetadata   = 256 * 1024
	maxVolumeErrorMessage = 1024
)

func attachmentMetadata(path *field.Path, metadata map[string]string) field.ErrorList {
	var f Findings
	size := 0
	for k, v := range Sorted(metadata) {
		f.AddIf(k == "", field.Invalid(path, k, "field can not be empty."))
		size += len(k) + len(v)
	}
	f.AddIf(size > maxAttachedMetadata, field.TooLong(path, "", maxAttachedMetadata))
	return f.Errs
}

func volumeError(path *field.Path, e *storagev1.VolumeError) field.ErrorList {
	if e == nil || len(e.Message) <= maxVolumeErrorMessage {
		return nil
	}
	return field.ErrorList{field.TooLong(path.Child("message"), "", maxAttachedMetadata)}
}

// CSIStorageCapacity checks a new capacity (KEP-1472).
func CSIStorageCapacity(o *storagev1.CSIStorageCapacity) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(capacity(o, metav1validation.LabelSelectorValidationOptions{}))
	return f.Errs
}

// CSIStorageCapacityUpdate checks a capacity that replaces another: only amounts change.
func CSIStorageCapacityUpdate(o, old *storagev1.CSIStorageCapacity) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(capacity(o, metav1validation.LabelSelectorValidationOptions{
		AllowInvalidLabelValueInSelector: metav1validation.LabelSelectorHasInvalidLabelValue(old.NodeTopology)}))
	if !reflect.DeepEqual(o.NodeTopology, old.NodeTopology) {
		f.Add(field.Invalid(field.NewPath("nodeTopology"), o.NodeTopology, apivalidation.FieldImmutableErrorMsg))
	}
	f.Merge(Unchanged(field.NewPath("storageClassName"), o.StorageClassName, old.StorageClassName))
	return f.Errs
}

func capacity(o *storagev1.CSIStorageCapacity, opts metav1validation.LabelSelectorValidationOptions) field.ErrorList {
	f := Findings{metav1validation.ValidateLabelSelector(o.NodeTopology, opts, field.NewPath("nodeTopology"))}
	f.Merge(Follows(Named(apivalidation.NameIsDNSSubdomain), field.NewPath("storageClassName"), o.StorageClassName))
	if q := o.Capacity; q != nil {
		f.AddIf(q.Sign() < 0, field.Invalid(field.NewPath("capacity"), q.String(), apivalidation.IsNegativeErrorMsg))
	}
	if q := o.MaximumVolumeSize; q != nil {
		f.AddIf(q.Sign() < 0, field.Invalid(field.NewPath("maximumVolumeSize"), q.String(), apivalidation.IsNegativeErrorMsg))
	}
	return f.Errs
}
