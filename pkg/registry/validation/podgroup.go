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
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	f.merge(workloadSpec(&o.Spec, nil))
	return f.errs
}

// WorkloadUpdate checks a workload that replaces another: it has the same templates, in
// which the size of a gang alone may change.
func WorkloadUpdate(o, old *schedulingv1beta1.Workload) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(workloadSpec(&o.Spec, &old.Spec))
	return f.errs
}

// PodGroup checks a new group of pods (KEP-4671).
func PodGroup(o *schedulingv1beta1.PodGroup) field.ErrorList {
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	f.merge(podGroupSpec(&o.Spec, nil))
	return f.errs
}

// PodGroupUpdate checks a group that replaces another: the size of a gang alone may change.
func PodGroupUpdate(o, old *schedulingv1beta1.PodGroup) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(podGroupSpec(&o.Spec, &old.Spec))
	return f.errs
}

// PodGroupStatusUpdate checks what the scheduler says of a group, and which claims were
// made for it.
func PodGroupStatusUpdate(o, old *schedulingv1beta1.PodGroup) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	status := field.NewPath("status")
	f.merge(metav1validation.ValidateConditions(o.Status.Conditions, status.Child("conditions")))
	claims := sets.New[string]()
	for _, c := range o.Spec.ResourceClaims {
		claims.Insert(c.Name)
	}
	path := status.Child("resourceClaimStatuses")
	f.merge(few(path, len(o.Status.ResourceClaimStatuses), schedulingv1beta1.MaxPodGroupResourceClaims))
	names := sets.New[string]()
	for i, s := range o.Status.ResourceClaimStatuses {
		path := path.Index(i)
		f.addIf(names.Has(s.Name), field.Duplicate(path, s))
		names.Insert(s.Name)
		f.addIf(!claims.Has(s.Name), field.Invalid(path.Child("name"), s.Name, "must match the name of an entry in `spec.resourceClaims`"))
		if s.ResourceClaimName != nil {
			f.merge(follows(utilvalidation.IsDNS1123Subdomain, path.Child("resourceClaimName"), *s.ResourceClaimName))
		}
	}
	return f.errs
}

// fixed reports a field that an update changes and may not: on create there is no old one. It says
// whether the field has to be looked at further.
func (f *findings) fixed(path *field.Path, update bool, value, old any) bool {
	if !update {
		return true
	}
	f.addIf(!apiequality.Semantic.DeepEqual(value, old), field.Invalid(path, nil, apivalidation.FieldImmutableErrorMsg))
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
	var f findings
	path, update, was := field.NewPath("spec"), old != nil, deref(old)
	if ref := path.Child("controllerRef"); f.fixed(ref, update, s.ControllerRef, was.ControllerRef) && s.ControllerRef != nil {
		if s.ControllerRef.APIGroup != "" {
			f.merge(follows(utilvalidation.IsDNS1123Subdomain, ref.Child("apiGroup"), s.ControllerRef.APIGroup))
		}
		f.merge(required(content.IsPathSegmentName, ref.Child("kind"), s.ControllerRef.Kind),
			required(content.IsPathSegmentName, ref.Child("name"), s.ControllerRef.Name))
	}
	// The feature gate CompositePodGroup is off.
	f.addIf(len(s.CompositePodGroupTemplates) > 0, field.Forbidden(path.Child("compositePodGroupTemplates"), ""))
	f.addIf(len(s.PodGroupTemplates) == 0 && len(s.CompositePodGroupTemplates) == 0 && !update,
		field.Invalid(path, "", "must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`"))

	templates := path.Child("podGroupTemplates")
	f.merge(few(templates, len(s.PodGroupTemplates), schedulingv1beta1.WorkloadMaxPodGroupTemplates))
	sameName := func(a, b *schedulingv1beta1.PodGroupTemplate) bool { return a.Name == b.Name }
	if update {
		f.merge(validate.ValSliceUpdate(context.Background(), operation.Operation{Type: operation.Update}, templates,
			s.PodGroupTemplates, was.PodGroupTemplates, sameName, validate.NoAddItem, validate.NoRemoveItem))
	}
	names := sets.New[string]()
	for i := range s.PodGroupTemplates {
		t := &s.PodGroupTemplates[i]
		f.addIf(names.Has(t.Name), field.Duplicate(templates.Index(i), *t))
		names.Insert(t.Name)
		var before *schedulingv1beta1.PodGroupTemplate
		for j := range was.PodGroupTemplates {
			if sameName(t, &was.PodGroupTemplates[j]) {
				before = &was.PodGroupTemplates[j]
			}
		}
		f.merge(required(utilvalidation.IsDNS1123Label, templates.Index(i).Child("name"), t.Name),
			groupSpec(templates.Index(i), groupOfTemplate(t), groupOfTemplate(before)))
	}
	return f.errs
}

func podGroupSpec(s, old *schedulingv1beta1.PodGroupSpec) field.ErrorList {
	var f findings
	path, update, was := field.NewPath("spec"), old != nil, deref(old)
	// The feature gate CompositePodGroup is off.
	f.addIf(s.ParentCompositePodGroupName != nil, field.Forbidden(path.Child("parentCompositePodGroupName"), ""))
	if ref := path.Child("workloadRef"); f.fixed(ref, update, s.WorkloadRef, was.WorkloadRef) && s.WorkloadRef != nil {
		f.merge(required(utilvalidation.IsDNS1123Subdomain, ref.Child("workloadName"), s.WorkloadRef.WorkloadName),
			required(utilvalidation.IsDNS1123Label, ref.Child("templateName"), s.WorkloadRef.TemplateName))
	}
	f.merge(groupSpec(path, s, old))
	return f.errs
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
	var f findings
	update, was := old != nil, deref(old)
	f.merge(schedulingPolicy(path.Child("schedulingPolicy"), update, s.SchedulingPolicy, was.SchedulingPolicy))
	if at := path.Child("schedulingConstraints"); f.fixed(at, update, s.SchedulingConstraints, was.SchedulingConstraints) && s.SchedulingConstraints != nil {
		topology := at.Child("topology")
		f.merge(few(topology, len(s.SchedulingConstraints.Topology), 1))
		for i, c := range s.SchedulingConstraints.Topology {
			f.merge(required(utilvalidation.IsQualifiedName, topology.Index(i).Child("key"), c.Key))
		}
	}
	if at := path.Child("resourceClaims"); f.fixed(at, update, s.ResourceClaims, was.ResourceClaims) {
		f.merge(groupClaims(at, s.ResourceClaims))
	}
	if at := path.Child("disruptionMode"); f.fixed(at, update, s.DisruptionMode, was.DisruptionMode) && s.DisruptionMode != nil {
		f.merge(exactlyOne(at, option{"single", s.DisruptionMode.Single != nil}, option{"all", s.DisruptionMode.All != nil}))
	}
	if at := path.Child("priorityClassName"); f.fixed(at, update, s.PriorityClassName, was.PriorityClassName) && s.PriorityClassName != "" {
		f.merge(follows(utilvalidation.IsDNS1123Subdomain, at, s.PriorityClassName))
	}
	if at := path.Child("priority"); f.fixed(at, update, s.Priority, was.Priority) && s.Priority != nil {
		f.addIf(*s.Priority > maxUserPriority, field.Invalid(at, *s.Priority, content.MaxError(maxUserPriority)))
	}
	if at := path.Child("preemptionPolicy"); f.fixed(at, update, s.PreemptionPolicy, was.PreemptionPolicy) {
		f.merge(optionalOneOf(at, s.PreemptionPolicy, schedulingv1beta1.PreemptNever, schedulingv1beta1.PreemptLowerPriority))
	}
	return f.errs
}

func schedulingPolicy(path *field.Path, update bool, s, old schedulingv1beta1.PodGroupSchedulingPolicy) field.ErrorList {
	var f findings
	if update {
		f.fixed(path.Child("basic"), update, s.Basic, old.Basic)
		f.merge(validate.UpdatePointer(context.Background(), operation.Operation{Type: operation.Update}, path.Child("gang"), s.Gang, old.Gang,
			validate.NoSet, validate.NoUnset))
	} else {
		f.merge(exactlyOne(path, option{"basic", s.Basic != nil}, option{"gang", s.Gang != nil}))
	}
	if s.Gang == nil {
		return f.errs
	}
	count := path.Child("gang", "minCount")
	f.addIf(s.Gang.MinCount == 0, field.Required(count, ""))
	f.addIf(s.Gang.MinCount < 0, field.Invalid(count, s.Gang.MinCount, content.MinError(1)))
	return f.errs
}

func groupClaims(path *field.Path, claims []schedulingv1beta1.PodGroupResourceClaim) field.ErrorList {
	f := findings{few(path, len(claims), schedulingv1beta1.MaxPodGroupResourceClaims)}
	names := sets.New[string]()
	for i, c := range claims {
		path := path.Index(i)
		f.addIf(names.Has(c.Name), field.Duplicate(path, c))
		names.Insert(c.Name)
		f.merge(required(utilvalidation.IsDNS1123Label, path.Child("name"), c.Name), exactlyOne(path,
			option{"resourceClaimName", c.ResourceClaimName != nil}, option{"resourceClaimTemplateName", c.ResourceClaimTemplateName != nil}))
		if c.ResourceClaimName != nil {
			f.merge(follows(utilvalidation.IsDNS1123Subdomain, path.Child("resourceClaimName"), *c.ResourceClaimName))
		}
		if c.ResourceClaimTemplateName != nil {
			f.merge(follows(utilvalidation.IsDNS1123Subdomain, path.Child("resourceClaimTemplateName"), *c.ResourceClaimTemplateName))
		}
	}
	return f.errs
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
