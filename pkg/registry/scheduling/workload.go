package scheduling

import (
	"context"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// workloadKind is the row of workloads.
var workloadKind = registry.Kind{
	Resource:   "workloads",
	Namespaced: true,
	Object:     &schedulingv1beta1.Workload{}, List: &schedulingv1beta1.WorkloadList{},
	Printer: &workloadColumns,
	Hooks: registry.HooksOf[*schedulingv1beta1.Workload]{
		Validate:       validateWorkload,
		ValidateUpdate: validateWorkloadUpdate,
	},
}

// validateWorkload checks a new workload (KEP-4671).
func validateWorkload(o *schedulingv1beta1.Workload) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(workloadSpec(&o.Spec, nil))
	return f.Errs
}

// validateWorkloadUpdate checks a workload that replaces another. The templates can't change, except for the size of a
// gang.
func validateWorkloadUpdate(o, old *schedulingv1beta1.Workload) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(workloadSpec(&o.Spec, &old.Spec))
	return f.Errs
}

func workloadSpec(s, old *schedulingv1beta1.WorkloadSpec) field.ErrorList {
	var f validation.Findings
	path, update, was := field.NewPath("spec"), old != nil, deref(old)
	if ref := path.Child("controllerRef"); f.Fixed(ref, update, s.ControllerRef, was.ControllerRef) && s.ControllerRef != nil {
		if s.ControllerRef.APIGroup != "" {
			f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, ref.Child("apiGroup"), s.ControllerRef.APIGroup))
		}
		f.Merge(validation.Required(content.IsPathSegmentName, ref.Child("kind"), s.ControllerRef.Kind),
			validation.Required(content.IsPathSegmentName, ref.Child("name"), s.ControllerRef.Name))
	}
	// The feature gate CompositePodGroup is off.
	f.AddIf(len(s.CompositePodGroupTemplates) > 0, field.Forbidden(path.Child("compositePodGroupTemplates"), ""))
	f.AddIf(len(s.PodGroupTemplates) == 0 && len(s.CompositePodGroupTemplates) == 0 && !update,
		field.Invalid(path, "", "must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`"))

	templates := path.Child("podGroupTemplates")
	f.Merge(validation.Few(templates, len(s.PodGroupTemplates), schedulingv1beta1.WorkloadMaxPodGroupTemplates))
	sameName := func(a, b *schedulingv1beta1.PodGroupTemplate) bool { return a.Name == b.Name }
	if update {
		f.Merge(validate.ValSliceUpdate(context.Background(), operation.Operation{Type: operation.Update}, templates,
			s.PodGroupTemplates, was.PodGroupTemplates, sameName, validate.NoAddItem, validate.NoRemoveItem))
	}
	names := sets.New[string]()
	for i := range s.PodGroupTemplates {
		t := &s.PodGroupTemplates[i]
		f.AddIf(names.Has(t.Name), field.Duplicate(templates.Index(i), *t))
		names.Insert(t.Name)
		var before *schedulingv1beta1.PodGroupTemplate
		for j := range was.PodGroupTemplates {
			if sameName(t, &was.PodGroupTemplates[j]) {
				before = &was.PodGroupTemplates[j]
			}
		}
		f.Merge(validation.Required(utilvalidation.IsDNS1123Label, templates.Index(i).Child("name"), t.Name),
			groupSpec(templates.Index(i), groupOfTemplate(t), groupOfTemplate(before)))
	}
	return f.Errs
}

// groupOfTemplate returns the group that the template makes.
func groupOfTemplate(t *schedulingv1beta1.PodGroupTemplate) *schedulingv1beta1.PodGroupSpec {
	if t == nil {
		return nil
	}
	return &schedulingv1beta1.PodGroupSpec{
		SchedulingPolicy: t.SchedulingPolicy, SchedulingConstraints: t.SchedulingConstraints, ResourceClaims: t.ResourceClaims,
		DisruptionMode: t.DisruptionMode, PriorityClassName: t.PriorityClassName, Priority: t.Priority, PreemptionPolicy: t.PreemptionPolicy,
	}
}

var workloadColumns = printers.Of(
	[]printers.Column{printers.NameColumn, printers.AgeColumn},
	func(w *schedulingv1beta1.Workload) []any { return []any{w.Name, printers.Since(w.CreationTimestamp)} })
