package scheduling

import (
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// podGroupKind is the row of podgroups in the server's table of kinds.
var podGroupKind = registry.Kind{
	Resource:   "podgroups",
	Namespaced: true,
	Feature:    "GenericWorkload",
	Object:     &schedulingv1beta1.PodGroup{}, List: &schedulingv1beta1.PodGroupList{},
	Defaults: []registry.Default{registry.DefaultOf(defaultPodGroupV1beta1),
		registry.DefaultLike[schedulingv1alpha3.PodGroup](defaultPodGroupV1beta1)},
	Status:              true,
	StatusKeepsMetadata: true,
	ConditionalUpdate:   true,
	Printer:             &podGroupColumns,
	Hooks: registry.HooksOf[*schedulingv1beta1.PodGroup]{
		Validate:             validatePodGroup,
		ValidateUpdate:       validatePodGroupUpdate,
		ValidateStatusUpdate: validatePodGroupStatusUpdate,
	},
	Gated: []registry.Gate{
		registry.GateOf[schedulingv1beta1.PodGroup]("TopologyAwareWorkloadScheduling", "Spec.SchedulingConstraints"),
		claims,
		registry.GateOf[schedulingv1beta1.PodGroup]("DRAWorkloadResourceClaims", "Status.ResourceClaimStatuses").InUse(claims),
		registry.GateOf[schedulingv1beta1.PodGroup]("PodGroupPreemptionPolicy", "Spec.PreemptionPolicy"),
		registry.GateOf[schedulingv1beta1.PodGroup]("CompositePodGroup", "Spec.ParentCompositePodGroupName"),
	},
}

// claims is the gate of the resource claims of a group's pods (KEP-5729).
var claims = registry.GateOf[schedulingv1beta1.PodGroup]("DRAWorkloadResourceClaims", "Spec.ResourceClaims")

// defaultPodGroupV1beta1 sets the defaults of a scheduling.k8s.io/v1beta1 PodGroup. By default, the pods of a group
// can be disrupted one by one.
func defaultPodGroupV1beta1(g *schedulingv1beta1.PodGroup) {
	defaults.Pointer(&g.Spec.DisruptionMode, schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}})
}

// validatePodGroup checks a new PodGroup (KEP-4671).
func validatePodGroup(o *schedulingv1beta1.PodGroup) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.AddIf(o.Spec.ParentCompositePodGroupName != nil && o.Spec.WorkloadRef == nil,
		field.Required(validation.SpecPath.Child("workloadRef"), "must be set when parentCompositePodGroupName is set"))
	return f.Errs
}

// validatePodGroupUpdate checks an update of a PodGroup. In the spec, only the size of a gang can change.
func validatePodGroupUpdate(o, old *schedulingv1beta1.PodGroup) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	return f.Errs
}

// validatePodGroupStatusUpdate checks the conditions and the claims in the status.
func validatePodGroupStatusUpdate(o, old *schedulingv1beta1.PodGroup) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(metav1validation.ValidateConditions(o.Status.Conditions, validation.StatusPath.Child("conditions")))
	claims := sets.New[string]()
	for _, c := range o.Spec.ResourceClaims {
		claims.Insert(c.Name)
	}
	for i, s := range o.Status.ResourceClaimStatuses {
		path := validation.StatusPath.Child("resourceClaimStatuses").Index(i)
		f.AddIf(!claims.Has(s.Name), field.Invalid(path.Child("name"), s.Name, "must match the name of an entry in `spec.resourceClaims`"))
	}
	return f.Errs
}

var podGroupColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Policy", printers.Doc(schedulingv1beta1.PodGroupSpec{}, "schedulingPolicy")),
		printers.Text("Workload", "Name of the referenced Workload object"),
		printers.Text("Status", "Status of the PodGroup"),
		printers.AgeColumn,
	},
	func(g *schedulingv1beta1.PodGroup) []any {
		policy, workload := "Basic", printers.None
		if g.Spec.SchedulingPolicy.Gang != nil {
			policy = "Gang"
		}
		if ref := g.Spec.WorkloadRef; ref != nil {
			workload = ref.WorkloadName
		}
		return []any{g.Name, policy, workload, podGroupStatus(g.Status.Conditions), printers.Since(g.CreationTimestamp)}
	})

// podGroupStatus returns the state that kubectl get shows. A group that is about to be disrupted shows the reason.
func podGroupStatus(conditions []metav1.Condition) string {
	scheduled := meta.FindStatusCondition(conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
	switch disrupted := meta.FindStatusCondition(conditions, schedulingv1beta1.DisruptionTarget); {
	case disrupted != nil:
		return disrupted.Reason
	case scheduled == nil:
		return "Pending"
	case scheduled.Status == metav1.ConditionTrue:
		return "Scheduled"
	}
	return "Unschedulable"
}
