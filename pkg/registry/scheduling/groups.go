package scheduling

import (
	"context"
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// deref returns the value of an old object's pointer, or the zero value.
func deref[T any](old *T) (value T) {
	if old != nil {
		value = *old
	}
	return value
}

// groupSpec checks the fields that a group and a template of groups share.
func groupSpec(path *field.Path, s, old *schedulingv1beta1.PodGroupSpec) field.ErrorList {
	var f validation.Findings
	update, was := old != nil, deref(old)
	f.Merge(schedulingPolicy(path.Child("schedulingPolicy"), update, s.SchedulingPolicy, was.SchedulingPolicy))
	if at := path.Child("schedulingConstraints"); f.Fixed(at, update, s.SchedulingConstraints, was.SchedulingConstraints) && s.SchedulingConstraints != nil {
		topology := at.Child("topology")
		f.Merge(validation.Few(topology, len(s.SchedulingConstraints.Topology), 1))
		for i, c := range s.SchedulingConstraints.Topology {
			f.Merge(validation.Required(utilvalidation.IsQualifiedName, topology.Index(i).Child("key"), c.Key))
		}
	}
	if at := path.Child("resourceClaims"); f.Fixed(at, update, s.ResourceClaims, was.ResourceClaims) {
		f.Merge(groupClaims(at, s.ResourceClaims))
	}
	if at := path.Child("disruptionMode"); f.Fixed(at, update, s.DisruptionMode, was.DisruptionMode) && s.DisruptionMode != nil {
		f.Merge(exactlyOne(at, option{"single", s.DisruptionMode.Single != nil}, option{"all", s.DisruptionMode.All != nil}))
	}
	if at := path.Child("priorityClassName"); f.Fixed(at, update, s.PriorityClassName, was.PriorityClassName) && s.PriorityClassName != "" {
		f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, at, s.PriorityClassName))
	}
	if at := path.Child("priority"); f.Fixed(at, update, s.Priority, was.Priority) && s.Priority != nil {
		f.AddIf(*s.Priority > maxUserPriority, field.Invalid(at, *s.Priority, content.MaxError(maxUserPriority)))
	}
	if at := path.Child("preemptionPolicy"); f.Fixed(at, update, s.PreemptionPolicy, was.PreemptionPolicy) {
		f.Merge(validation.OptionalOneOf(at, s.PreemptionPolicy, schedulingv1beta1.PreemptNever, schedulingv1beta1.PreemptLowerPriority))
	}
	return f.Errs
}

func schedulingPolicy(path *field.Path, update bool, s, old schedulingv1beta1.PodGroupSchedulingPolicy) field.ErrorList {
	var f validation.Findings
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
	f := validation.Findings{Errs: validation.Few(path, len(claims), schedulingv1beta1.MaxPodGroupResourceClaims)}
	names := sets.New[string]()
	for i, c := range claims {
		path := path.Index(i)
		f.AddIf(names.Has(c.Name), field.Duplicate(path, c))
		names.Insert(c.Name)
		f.Merge(validation.Required(utilvalidation.IsDNS1123Label, path.Child("name"), c.Name), exactlyOne(path,
			option{"resourceClaimName", c.ResourceClaimName != nil}, option{"resourceClaimTemplateName", c.ResourceClaimTemplateName != nil}))
		if c.ResourceClaimName != nil {
			f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, path.Child("resourceClaimName"), *c.ResourceClaimName))
		}
		if c.ResourceClaimTemplateName != nil {
			f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, path.Child("resourceClaimTemplateName"), *c.ResourceClaimTemplateName))
		}
	}
	return f.Errs
}

// option is a field of a union, in which exactly one field is set.
type option struct {
	name string
	set  bool
}

// exactlyOne checks that one of two fields is set. The error is that of the library's declarative validation.
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
