package scheduling

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// podGroupKind is the row of podgroups.
var podGroupKind = registry.Kind{
	Resource:   "podgroups",
	Namespaced: true,
	Object:     &schedulingv1beta1.PodGroup{}, List: &schedulingv1beta1.PodGroupList{},
	Defaults:            []registry.Default{registry.DefaultOf(defaultPodGroupV1beta1)},
	Status:              true,
	StatusKeepsMetadata: true,
	Printer:             &podGroupColumns,
	Hooks: registry.HooksOf[*schedulingv1beta1.PodGroup]{
		Validate:             validatePodGroup,
		ValidateUpdate:       validatePodGroupUpdate,
		ValidateStatusUpdate: validatePodGroupStatusUpdate,
	},
}

// defaultPodGroupV1beta1 sets the defaults of a scheduling.k8s.io/v1beta1 PodGroup. By default its pods can be
// disrupted one by one.
func defaultPodGroupV1beta1(g *schedulingv1beta1.PodGroup) {
	defaults.Pointer(&g.Spec.DisruptionMode, schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}})
}

// validatePodGroup checks a new group of pods (KEP-4671).
func validatePodGroup(o *schedulingv1beta1.PodGroup) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(podGroupSpec(&o.Spec, nil))
	return f.Errs
}

// validatePodGroupUpdate checks a group that replaces another. Only the size of a gang can change.
func validatePodGroupUpdate(o, old *schedulingv1beta1.PodGroup) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(podGroupSpec(&o.Spec, &old.Spec))
	return f.Errs
}

// validatePodGroupStatusUpdate checks the conditions and the claims in a group's status.
func validatePodGroupStatusUpdate(o, old *schedulingv1beta1.PodGroup) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	status := field.NewPath("status")
	f.Merge(metav1validation.ValidateConditions(o.Status.Conditions, status.Child("conditions")))
	claims := sets.New[string]()
	for _, c := range o.Spec.ResourceClaims {
		claims.Insert(c.Name)
	}
	path := status.Child("resourceClaimStatuses")
	f.Merge(validation.Few(path, len(o.Status.ResourceClaimStatuses), schedulingv1beta1.MaxPodGroupResourceClaims))
	names := sets.New[string]()
	for i, s := range o.Status.ResourceClaimStatuses {
		path := path.Index(i)
		f.AddIf(names.Has(s.Name), field.Duplicate(path, s))
		names.Insert(s.Name)
		f.AddIf(!claims.Has(s.Name), field.Invalid(path.Child("name"), s.Name, "must match the name of an entry in `spec.resourceClaims`"))
		if s.ResourceClaimName != nil {
			f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, path.Child("resourceClaimName"), *s.ResourceClaimName))
		}
	}
	return f.Errs
}

func podGroupSpec(s, old *schedulingv1beta1.PodGroupSpec) field.ErrorList {
	var f validation.Findings
	path, update, was := field.NewPath("spec"), old != nil, deref(old)
	// The feature gate CompositePodGroup is off.
	f.AddIf(s.ParentCompositePodGroupName != nil, field.Forbidden(path.Child("parentCompositePodGroupName"), ""))
	if ref := path.Child("workloadRef"); f.Fixed(ref, update, s.WorkloadRef, was.WorkloadRef) && s.WorkloadRef != nil {
		f.Merge(validation.Required(utilvalidation.IsDNS1123Subdomain, ref.Child("workloadName"), s.WorkloadRef.WorkloadName),
			validation.Required(utilvalidation.IsDNS1123Label, ref.Child("templateName"), s.WorkloadRef.TemplateName))
	}
	f.Merge(groupSpec(path, s, old))
	return f.Errs
}

var podGroupColumns = printers.Of(
	[]printers.Column{printers.NameColumn, printers.AgeColumn},
	func(g *schedulingv1beta1.PodGroup) []any { return []any{g.Name, printers.Since(g.CreationTimestamp)} })
