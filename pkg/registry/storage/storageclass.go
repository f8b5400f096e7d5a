package storage

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// storageClassKind is the row of storageclasses in the server's table of kinds.
var storageClassKind = registry.Kind{
	Resource:   "storageclasses",
	ShortNames: []string{"sc"},
	Object:     &storagev1.StorageClass{}, List: &storagev1.StorageClassList{},
	Defaults: []registry.Default{registry.DefaultOf(defaultStorageClass),
		registry.DefaultLike[storagev1beta1.StorageClass](defaultStorageClass)},
	ReturnDeleted: true,
	Printer:       &storageClassColumns,
	Hooks: registry.HooksOf[*storagev1.StorageClass]{
		Validate:       validateStorageClass,
		ValidateUpdate: validateStorageClassUpdate,
		Warnings:       storageClassWarnings,
	},
}

func defaultStorageClass(c *storagev1.StorageClass) {
	defaults.Pointer(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	defaults.Pointer(&c.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}

func validateStorageClass(o *storagev1.StorageClass) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(validation.Optional(utilvalidation.IsQualifiedName, field.NewPath("provisioner"), strings.ToLower(o.Provisioner)),
		storageParameters(o.Parameters, true))
	if ptr.Deref(o.ReclaimPolicy, "") != "" {
		f.Merge(validation.OneOf(field.NewPath("reclaimPolicy"), *o.ReclaimPolicy,
			corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain))
	}
	mode := field.NewPath("volumeBindingMode")
	f.AddIf(o.VolumeBindingMode == nil, field.Required(mode, ""))
	f.Merge(validation.OptionalOneOf(mode, o.VolumeBindingMode, storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer))
	f.Merge(allowedTopologies(o.AllowedTopologies))
	return f.Errs
}

func validateStorageClassUpdate(o, old *storagev1.StorageClass) field.ErrorList {
	f := validation.Findings{Errs: validateStorageClass(o)}
	f.Merge(validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs)
	return f.Errs
}

// allowedTopologies checks the terms that select nodes. No two terms may be equal. As in kube-apiserver, a term without
// expressions is always a duplicate.
func allowedTopologies(terms []corev1.TopologySelectorTerm) field.ErrorList {
	var f validation.Findings
	seen := make([]map[string]sets.Set[string], len(terms)) // each nil map equals a term without expressions
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

// defaultClassAnnotations are the annotations that mark a StorageClass as the default.
var defaultClassAnnotations = []string{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"}

// storageClassName returns the name of a class for the rows of kubectl get. The name of the default class gets the
// suffix "(default)".
func storageClassName(c *storagev1.StorageClass) string {
	if slices.ContainsFunc(defaultClassAnnotations, func(mark string) bool { return c.Annotations[mark] == "true" }) {
		return c.Name + " (default)"
	}
	return c.Name
}

var storageClassColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Provisioner", printers.Doc(storagev1.StorageClass{}, "provisioner")),
		printers.Text("ReclaimPolicy", printers.Doc(storagev1.StorageClass{}, "reclaimPolicy")),
		printers.Text("VolumeBindingMode", printers.Doc(storagev1.StorageClass{}, "volumeBindingMode")),
		printers.Text("AllowVolumeExpansion", printers.Doc(storagev1.StorageClass{}, "allowVolumeExpansion")),
		printers.AgeColumn,
	},
	func(c *storagev1.StorageClass) []any {
		return []any{
			storageClassName(c), c.Provisioner,
			string(ptr.Deref(c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)),
			string(ptr.Deref(c.VolumeBindingMode, storagev1.VolumeBindingImmediate)),
			ptr.Deref(c.AllowVolumeExpansion, false), printers.Since(c.CreationTimestamp),
		}
	})

// storageClassWarnings warns of deprecated node labels in allowedTopologies.
func storageClassWarnings(_ context.Context, c, _ *storagev1.StorageClass) []string {
	var l warnings.List
	for i, topology := range c.AllowedTopologies {
		for j, requirement := range topology.MatchLabelExpressions {
			path := field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j).Child("key")
			l.NodeLabel(path, requirement.Key, false)
		}
	}
	return l
}
