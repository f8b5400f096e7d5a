package validation

import (
	"context"
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Workload checks a new workload (KEP-4671).
func Workload(o *schedulingv1beta1.Workload) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(workloadSpec(&o.Spec, nil))
	return f.Errs
}

// WorkloadUpdate checks a workload that replaces another: it has the same templates, in
// which the size of a gang alone may change.
func WorkloadUpdate(o, old *schedulingv1beta1.Workload) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(workloadSpec(&o.Spec, &old.Spec))
	return f.Errs
}

// PodGroup checks a new group of pods (KEP-4671).
func PodGroup(o *schedulingv1beta1.PodGroup) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(podGroupSpec(&o.Spec, nil))
	return f.Errs
}

// PodGroupUpdate checks a group that replaces another: the size of a gang alone may change.
func PodGroupUpdate(o, old *schedulingv1beta1.PodGroup) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(podGroupSpec(&o.Spec, &old.Spec))
	return f.Errs
}

// PodGroupStatusUpdate checks what the scheduler says of a group, and which claims were
// made for it.
func PodGroupStatusUpdate(o, old *schedulingv1beta1.PodGroup) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	status := field.NewPath("status")
	f.Merge(metav1validation.ValidateConditions(o.Status.Conditions, status.Child("conditions")))
	claims := sets.New[string]()
	for _, c := range o.Spec.ResourceClaims {
		claims.Insert(c.Name)
	}
	path := status.Child("resourceClaimStatuses")
	f.Merge(Few(path, len(o.Status.ResourceClaimStatuses), schedulingv1beta1.MaxPodGroupResourceClaims))
	names := sets.New[string]()
	for i, s := range o.Status.ResourceClaimStatuses {
		path := path.Index(i)
		f.AddIf(names.Has(s.Name), field.Duplicate(path, s))
		names.Insert(s.Name)
		f.AddIf(!claims.Has(s.Name), field.Invalid(path.Child("name"), s.Name, "must match the name of an entry in `spec.resourceClaims`"))
		if s.ResourceClaimName != nil {
			f.Merge(Follows(utilvalidation.IsDNS1123Subdomain, path.Child("resourceClaimName"), *s.ResourceClaimName))
		}
	}
	return f.Errs
}

// Fixed reports a field that an update changes and may not: on create there is no old one. It says
// whether the field has to be looked at further.
func (f *Findings) Fixed(path *field.Path, update bool, value, old any) bool {
	if !update {
		return true
	}
	f.AddIf(!apiequality.Semantic.DeepEqual(value, old), field.Invalid(path, nil, apivalidation.FieldImmutableErrorMsg))
	return false
}

// deref is what an old object has in its place, if there is one.
func deref[T any](old *T) (value T) {
	if old != nil {
		value = *old
	}
	return value
}

func workloadSpec(s, old *schedulingv1beta1.WorkloadSpec) field.ErrorList {
	var f Findings
	path, update, was := field.NewPath("spec"), old != nil, deref(old)
	if ref := path.Child("controllerRef"); f.Fixed(ref, update, s.ControllerRef, was.ControllerRef) && s.ControllerRef != nil {
		if s.ControllerRef.APIGroup != "" {
			f.Merge(Follows(utilvalidation.IsDNS1123Subdomain, ref.Child("apiGroup"), s.ControllerRef.APIGroup))
		}
		f.Merge(Required(content.IsPathSegmentName, ref.Child("kind"), s.ControllerRef.Kind),
			Required(content.IsPathSegmentName, ref.Child("name"), s.ControllerRef.Name))
	}
	// The feature gate CompositePodGroup is off.
	f.AddIf(len(s.CompositePodGroupTemplates) > 0, field.Forbidden(path.Child("compositePodGroupTemplates"), ""))
	f.AddIf(len(s.PodGroupTemplates) == 0 && len(s.CompositePodGroupTemplates) == 0 && !update,
		field.Invalid(path, "", "must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`"))

	templates := path.Child("podGroupTemplates")
	f.Merge(Few(templates, len(s.PodGroupTemplates), schedulingv1beta1.WorkloadMaxPodGroupTemplates))
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
		f.Merge(Required(utilvalidation.IsDNS1123Label, templates.Index(i).Child("name"), t.Name),
			groupSpec(templates.Index(i), groupOfTemplate(t), groupOfTemplate(before)))
	}
	return f.Errs
}

func podGroupSpec(s, old *schedulingv1beta1.PodGroupSpec) field.ErrorList {
	var f Findings
	path, update, was := field.NewPath("spec"), old != nil, deref(old)
	// The feature gate CompositePodGroup is off.
	f.AddIf(s.ParentCompositePodGroupName != nil, field.Forbidden(path.Child("parentCompositePodGroupName"), ""))
	if ref := path.Child("workloadRef"); f.Fixed(ref, update, s.WorkloadRef, was.WorkloadRef) && s.WorkloadRef != nil {
		f.Merge(Required(utilvalidation.IsDNS1123Subdomain, ref.Child("workloadName"), s.WorkloadRef.WorkloadName),
			Required(utilvalidation.IsDNS1123Label, ref.Child("templateName"), s.WorkloadRef.TemplateName))
	}
	f.Merge(groupSpec(path, s, old))
	return f.Errs
}

// groupOfTemplate is a group as the template makes it.
func groupOfTemplate(t *schedulingv1beta1.PodGroupTemplate) *schedulingv1beta1.PodGroupSpec {
	if t == nil {
		return nil
	}
	return &schedulingv1beta1.PodGroupSpec{
		SchedulingPolicy: t.SchedulingPolicy, SchedulingConstraints: t.SchedulingConstraints, ResourceClaims: t.ResourceClaims,
		DisruptionMode: t.DisruptionMode, PriorityClassName: t.PriorityClassName, Priority: t.Priority, PreemptionPolicy: t.PreemptionPolicy,
	}
}

// groupSpec checks what a group and a template of groups have in common.
func groupSpec(path *field.Path, s, old *schedulingv1beta1.PodGroupSpec) field.ErrorList {
	var f Findings
	update, was := old != nil, deref(old)
	f.Merge(schedulingPolicy(path.Child("schedulingPolicy"), update, s.SchedulingPolicy, was.SchedulingPolicy))
	if at := path.Child("schedulingConstraints"); f.Fixed(at, update, s.SchedulingConstraints, was.SchedulingConstraints) && s.SchedulingConstraints != nil {
		topology := at.Child("topology")
		f.Merge(Few(topology, len(s.SchedulingConstraints.Topology), 1))
		for i, c := range s.SchedulingConstraints.Topology {
			f.Merge(Required(utilvalidation.IsQualifiedName, topology.Index(i).Child("key"), c.Key))
		}
	}
	if at := path.Child("resourceClaims"); f.Fixed(at, update, s.ResourceClaims, was.ResourceClaims) {
		f.Merge(groupClaims(at, s.ResourceClaims))
	}
	if at := path.Child("disruptionMode"); f.Fixed(at, update, s.DisruptionMode, was.DisruptionMode) && s.DisruptionMode != nil {
		f.Merge(exactlyOne(at, option{"single", s.DisruptionMode.Single != nil}, option{"all", s.DisruptionMode.All != nil}))
	}
	if at := path.Child("priorityClassName"); f.Fixed(at, update, s.PriorityClassName, was.PriorityClassName) && s.PriorityClassName != "" {
		f.Merge(Follows(utilvalidation.IsDNS1123Subdomain, at, s.PriorityClassName))
	}
	if at := path.Child("priority"); f.Fixed(at, update, s.Priority, was.Priority) && s.Priority != nil {
		f.AddIf(*s.Priority > maxUserPriority, field.Invalid(at, *s.Priority, content.MaxError(maxUserPriority)))
	}
	if at := path.Child("preemptionPolicy"); f.Fixed(at, update, s.PreemptionPolicy, was.PreemptionPolicy) {
		f.Merge(OptionalOneOf(at, s.PreemptionPolicy, schedulingv1beta1.PreemptNever, schedulingv1beta1.PreemptLowerPriority))
	}
	return f.Errs
}

func schedulingPolicy(path *field.Path, update bool, s, old schedulingv1beta1.PodGroupSchedulingPolicy) field.ErrorList {
	var f Findings
	if update {
		f.Fixed(path.Child("basic"), update, s.Basic, old.Basic)
		f.Merge(validate.UpdatePointer(context.Background(), operation.Operation{Type: operation.Update}, path.Child("gang"), s.Gang, old.Gang,
			validate.NoSet, validate.NoUnset))
	} else {
		f.Merge(exactlyOne(path, option{"basic", s.Basic != nil}, option{"gang", s.Gang != nil}))
	}
	if s.Gang == nil {
		return f.Errs
	}
	count := path.Child("gang", "minCount")
	f.AddIf(s.Gang.MinCount == 0, field.Required(count, ""))
	f.AddIf(s.Gang.MinCount < 0, field.Invalid(count, s.Gang.MinCount, content.MinError(1)))
	return f.Errs
}

func groupClaims(path *field.Path, claims []schedulingv1beta1.PodGroupResourceClaim) field.ErrorList {
	f := Findings{Few(path, len(claims), schedulingv1beta1.MaxPodGroupResourceClaims)}
	names := sets.New[string]()
	for i, c := range claims {
		path := path.Index(i)
		f.AddIf(names.Has(c.Name), field.Duplicate(path, c))
		names.Insert(c.Name)
		f.Merge(Required(utilvalidation.IsDNS1123Label, path.Child("name"), c.Name), exactlyOne(path,
			option{"resourceClaimName", c.ResourceClaimName != nil}, option{"resourceClaimTemplateName", c.ResourceClaimTemplateName != nil}))
		if c.ResourceClaimName != nil {
			f.Merge(Follows(utilvalidation.IsDNS1123Subdomain, path.Child("resourceClaimName"), *c.ResourceClaimName))
		}
		if c.ResourceClaimTemplateName != nil {
			f.Merge(Follows(utilvalidation.IsDNS1123Subdomain, path.Child("resourceClaimTemplateName"), *c.ResourceClaimTemplateName))
		}
	}
	return f.Errs
}

// option is one of the fields of which exactly one is set.
type option struct {
	name string
	set  bool
}

// exactlyOne checks that one of two fields is set, in the words of the library's declarative validation.
func exactlyOne(path *field.Path, a, b option) field.ErrorList {
	switch {
	case !a.set && !b.set:
		return field.ErrorList{field.Invalid(path, "", fmt.Sprintf("must specify one of: `%s`, `%s`", a.name, b.name))}
	case a.set && b.set:
		return field.ErrorList{field.Invalid(path, fmt.Sprintf("{%s, %s}", a.name, b.name),
			fmt.Sprintf("must specify exactly one of: `%s`, `%s`", a.name, b.name))}
	}
	return nil
}
