package scheduling

import (
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// maxTemplateDepth is the largest depth of the tree of a Workload's templates.
const maxTemplateDepth = 4

// workloadTemplates checks the tree of a Workload's templates, by the rules that the Go types don't declare.
func workloadTemplates(path *field.Path, spec *schedulingv1beta1.WorkloadSpec) field.ErrorList {
	names := sets.New[string]()
	for _, t := range spec.PodGroupTemplates {
		names.Insert(t.Name)
	}
	f := validation.Findings{Errs: uniqueNames(path, spec.CompositePodGroupTemplates, names)}
	composites := path.Child("compositePodGroupTemplates")
	for i, t := range spec.CompositePodGroupTemplates {
		f.AddIf(depth(&t) >= maxTemplateDepth, field.Invalid(composites.Index(i), validation.Unversioned(t.CompositePodGroupTemplates),
			fmt.Sprintf("maximum template hierarchy depth is %d", maxTemplateDepth)))
	}
	f.Merge(samePriority(path, spec))
	for i, t := range spec.CompositePodGroupTemplates {
		f.Merge(hasChildren(composites.Index(i), &t))
	}
	return f.Errs
}

// uniqueNames checks that no template below a path has one of the names, or the name of a template in another list. The Go
// types declare that the names in a list are unique.
func uniqueNames(path *field.Path, templates []schedulingv1beta1.CompositePodGroupTemplate, names sets.Set[string]) field.ErrorList {
	var f validation.Findings
	path = path.Child("compositePodGroupTemplates")
	unique := func(path *field.Path, list []string) {
		for i, name := range list {
			f.AddIf(names.Has(name), field.Duplicate(path.Index(i).Child("name"), name))
		}
		names.Insert(list...)
	}
	var composites []string
	for _, t := range templates {
		composites = append(composites, t.Name)
	}
	unique(path, composites)
	for i, t := range templates {
		var groups []string
		for _, g := range t.PodGroupTemplates {
			groups = append(groups, g.Name)
		}
		unique(path.Index(i).Child("podGroupTemplates"), groups)
		f.Merge(uniqueNames(path.Index(i), t.CompositePodGroupTemplates, names))
	}
	return f.Errs
}

// depth returns the depth of the tree of composite templates at a template.
func depth(t *schedulingv1beta1.CompositePodGroupTemplate) int {
	deepest := 0
	for i := range t.CompositePodGroupTemplates {
		deepest = max(deepest, depth(&t.CompositePodGroupTemplates[i]))
	}
	return deepest + 1
}

// templatePriority is the priority of a template.
type templatePriority struct {
	class    string
	priority *int32
}

// samePriority checks that all templates of a Workload have the same priority class and the same priority.
func samePriority(path *field.Path, spec *schedulingv1beta1.WorkloadSpec) field.ErrorList {
	var groups []templatePriority
	for _, t := range spec.PodGroupTemplates {
		groups = append(groups, templatePriority{t.PriorityClassName, t.Priority})
	}
	if differ(groups) {
		return field.ErrorList{field.Invalid(path, nil, "detected multiple priority configurations")}
	}
	if differ(append(groups, prioritiesOf(spec.CompositePodGroupTemplates)...)) {
		return field.ErrorList{field.Invalid(path, nil, "all priority and priorityClassName values must be identical, detected multiple values")}
	}
	return nil
}

func prioritiesOf(templates []schedulingv1beta1.CompositePodGroupTemplate) []templatePriority {
	var all []templatePriority
	for _, t := range templates {
		all = append(all, templatePriority{t.PriorityClassName, t.Priority})
		all = append(all, prioritiesOf(t.CompositePodGroupTemplates)...)
		for _, g := range t.PodGroupTemplates {
			all = append(all, templatePriority{g.PriorityClassName, g.Priority})
		}
	}
	return all
}

func differ(all []templatePriority) bool {
	for _, p := range all {
		if p.class != all[0].class || !ptr.Equal(p.priority, all[0].priority) {
			return true
		}
	}
	return false
}

// hasChildren checks that each composite template of a tree has templates.
func hasChildren(path *field.Path, t *schedulingv1beta1.CompositePodGroupTemplate) field.ErrorList {
	var f validation.Findings
	f.AddIf(len(t.PodGroupTemplates)+len(t.CompositePodGroupTemplates) == 0,
		field.Invalid(path, t.Name, "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"))
	for i := range t.CompositePodGroupTemplates {
		f.Merge(hasChildren(path.Child("compositePodGroupTemplates").Index(i), &t.CompositePodGroupTemplates[i]))
	}
	return f.Errs
}
