package scheduling

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// workloadKind is the row of workloads in the server's table of kinds.
var workloadKind = registry.Kind{
	Resource:   "workloads",
	Namespaced: true,
	Feature:    "GenericWorkload",
	Object:     &schedulingv1beta1.Workload{}, List: &schedulingv1beta1.WorkloadList{},
	Printer: &workloadColumns,
	Hooks: registry.HooksOf[*schedulingv1beta1.Workload]{
		Validate:       validateWorkload,
		ValidateUpdate: validateWorkloadUpdate,
	},
	Gated: []registry.Gate{
		registry.GateOf[schedulingv1beta1.Workload]("TopologyAwareWorkloadScheduling", "Spec.PodGroupTemplates.SchedulingConstraints"),
		registry.GateOf[schedulingv1beta1.Workload]("DRAWorkloadResourceClaims", "Spec.PodGroupTemplates.ResourceClaims"),
		registry.GateOf[schedulingv1beta1.Workload]("PodGroupPreemptionPolicy",
			"Spec.PodGroupTemplates.PreemptionPolicy", "Spec.CompositePodGroupTemplates.PreemptionPolicy"),
		registry.GateOf[schedulingv1beta1.Workload]("CompositePodGroup", "Spec.CompositePodGroupTemplates"),
	},
}

// validateWorkload checks a new Workload (KEP-4671).
func validateWorkload(o *schedulingv1beta1.Workload) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(samePriority(&o.Spec))
	return f.Errs
}

// validateWorkloadUpdate checks an update of a Workload. In the templates, only the size of a gang can change.
func validateWorkloadUpdate(o, old *schedulingv1beta1.Workload) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(samePriority(&o.Spec))
	return f.Errs
}

// samePriority checks that all groups of a Workload have the same priority class and the same priority.
func samePriority(spec *schedulingv1beta1.WorkloadSpec) field.ErrorList {
	for _, t := range spec.PodGroupTemplates {
		first := spec.PodGroupTemplates[0]
		if t.PriorityClassName != first.PriorityClassName || !ptr.Equal(t.Priority, first.Priority) {
			return field.ErrorList{field.Invalid(validation.SpecPath, nil, "detected multiple priority configurations")}
		}
	}
	return nil
}

var workloadColumns = printers.NameAndAge[schedulingv1beta1.Workload]()
