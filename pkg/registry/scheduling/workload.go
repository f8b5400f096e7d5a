package scheduling

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

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
	ConditionalUpdate: true,
	Printer:           &workloadColumns,
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
	f.Merge(workloadTemplates(validation.SpecPath, &o.Spec))
	return f.Errs
}

// validateWorkloadUpdate checks an update of a Workload. In the templates, only the size of a gang can change.
func validateWorkloadUpdate(o, old *schedulingv1beta1.Workload) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(workloadTemplates(validation.SpecPath, &o.Spec))
	return f.Errs
}

var workloadColumns = printers.NameAndAge[schedulingv1beta1.Workload]()
