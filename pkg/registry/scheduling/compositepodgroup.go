package scheduling

import (
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// compositePodGroupKind is the row of compositepodgroups in the server's table of kinds.
var compositePodGroupKind = registry.Kind{
	Resource:   "compositepodgroups",
	Namespaced: true,
	Feature:    "CompositePodGroup",
	Object:     &schedulingv1alpha3.CompositePodGroup{}, List: &schedulingv1alpha3.CompositePodGroupList{},
	Defaults:            []registry.Default{registry.DefaultOf(defaultCompositePodGroup)},
	Status:              true,
	StatusKeepsMetadata: true,
	ConditionalUpdate:   true,
	Printer:             &compositePodGroupColumns,
	Hooks: registry.HooksOf[*schedulingv1alpha3.CompositePodGroup]{
		Validate:             validateCompositePodGroup,
		ValidateUpdate:       validateCompositePodGroupUpdate,
		ValidateStatusUpdate: validateCompositePodGroupStatusUpdate,
	},
	Gated: []registry.Gate{
		registry.GateOf[schedulingv1alpha3.CompositePodGroup]("PodGroupPreemptionPolicy", "Spec.PreemptionPolicy"),
	},
}

// defaultCompositePodGroup sets the defaults of a group of groups, without those that the admission plugin Priority sets.
func defaultCompositePodGroup(g *schedulingv1alpha3.CompositePodGroup) {
	defaults.Pointer(&g.Spec.DisruptionMode, schedulingv1alpha3.CompositeDisruptionMode{Single: &schedulingv1alpha3.SingleCompositeDisruptionMode{}})
}

func validateCompositePodGroup(o *schedulingv1alpha3.CompositePodGroup) field.ErrorList {
	return validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain).Errs
}

func validateCompositePodGroupUpdate(o, old *schedulingv1alpha3.CompositePodGroup) field.ErrorList {
	return validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs
}

func validateCompositePodGroupStatusUpdate(o, old *schedulingv1alpha3.CompositePodGroup) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(metav1validation.ValidateConditions(o.Status.Conditions, validation.StatusPath.Child("conditions")))
	return f.Errs
}

var compositePodGroupColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Policy", printers.Doc(schedulingv1alpha3.CompositePodGroupSpec{}, "schedulingPolicy")),
		printers.Text("Workload", "Name of the referenced Workload object"),
		printers.AgeColumn,
	},
	func(g *schedulingv1alpha3.CompositePodGroup) []any {
		policy, workload := "Basic", printers.None
		if g.Spec.SchedulingPolicy.Gang != nil {
			policy = "Gang"
		}
		if ref := g.Spec.WorkloadRef; ref != nil {
			workload = ref.WorkloadName
		}
		return []any{g.Name, policy, workload, printers.Since(g.CreationTimestamp)}
	})
