package podvalidation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

var (
	accessModeNames = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany, corev1.ReadWriteMany,
		corev1.ReadWriteOnce, corev1.ReadWriteOncePod}
	volumeModes = []corev1.PersistentVolumeMode{corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem}
)

// PersistentVolumeClaimSpec checks the spec of a claim, or of a claim template. The argument "old" is the spec of the
// stored claim, or nil.
func PersistentVolumeClaimSpec(path *field.Path, spec, old *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	var f validation.Findings
	f.AddIf(len(spec.AccessModes) == 0, field.Required(path.Child("accessModes"), "at least 1 access mode is required"))
	f.Merge(validation.LabelSelector(path.Child("selector"), spec.Selector), accessModes(path.Child("accessModes"), spec.AccessModes))

	storage := path.Child("resources").Key(string(corev1.ResourceStorage))
	if amount, ok := spec.Resources.Requests[corev1.ResourceStorage]; !ok {
		f.Add(field.Required(storage, ""))
	} else if errs := positiveQuantity(storage, amount); len(errs) > 0 {
		f.Merge(errs)
	} else {
		f.Merge(validation.ResourceQuantity(storage, corev1.ResourceStorage, amount))
	}
	f.Merge(optionalClass(path.Child("storageClassName"), spec.StorageClassName))
	f.Merge(validation.OptionalOneOf(path.Child("volumeMode"), spec.VolumeMode, volumeModes...))
	f.Merge(claimSources(path, spec, old != nil && namesGroup(old)))
	f.Merge(optionalClass(path.Child("volumeAttributesClassName"), spec.VolumeAttributesClassName))
	return f.Errs
}

func accessModes(path *field.Path, modes []corev1.PersistentVolumeAccessMode) field.ErrorList {
	var f validation.Findings
	for _, mode := range modes {
		f.Merge(validation.OneOf(path, mode, accessModeNames...))
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
	return validation.Follows(validation.ObjectName, path, *class)
}

// namesGroup reports whether a source of a claim has an API group.
func namesGroup(spec *corev1.PersistentVolumeClaimSpec) bool {
	return spec.DataSource != nil && spec.DataSource.APIGroup != nil || spec.DataSourceRef != nil && spec.DataSourceRef.APIGroup != nil
}

// claimSources checks dataSource and dataSourceRef of a claim (KEP-1495, KEP-3294). If the stored claim has an
// API group, API groups aren't checked, because earlier servers stored any.
func claimSources(path *field.Path, spec *corev1.PersistentVolumeClaimSpec, anyGroup bool) field.ErrorList {
	var f validation.Findings
	source, ref := spec.DataSource, spec.DataSourceRef
	check := func(path *field.Path, name, kind string, apiGroup *string) {
		group := ptr.Deref(apiGroup, "")
		f.Merge(validation.Present(path, "name", name, "kind", kind))
		f.AddIf(group == "" && kind != "PersistentVolumeClaim", field.Invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
		if group != "" && !anyGroup {
			f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, path.Child("apiGroup"), group))
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
		f.Merge(validation.Follows(validation.Named(apivalidation.ValidateNamespaceName), path.Child("dataSourceRef", "namespace"), *ref.Namespace))
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

// BasicQuantity checks that a quantity isn't negative.
func BasicQuantity(path *field.Path, q resource.Quantity) field.ErrorList {
	if q.Value() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, q.Value(), "must be a valid resource quantity")}
}
