package scheduling

import (
	"testing"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func gang(count int32) schedulingv1beta1.PodGroupSchedulingPolicy {
	return schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: count}}
}

// allGates are the gates of the fields of Workloads and PodGroups.
var allGates = []string{"GenericWorkload", "TopologyAwareWorkloadScheduling", "PodGroupPreemptionPolicy", "CompositePodGroup"}

var basic = schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}

func podGroup(change func(*schedulingv1beta1.PodGroup)) *schedulingv1beta1.PodGroup {
	g := &schedulingv1beta1.PodGroup{ObjectMeta: registrytest.Stored("group"), Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: gang(2)}}
	defaultPodGroupV1beta1(g)
	change(g)
	return g
}

func TestPodGroup(t *testing.T) {
	t.Parallel()
	same := func(*schedulingv1beta1.PodGroup) {}
	claims := []schedulingv1beta1.PodGroupResourceClaim{{Name: "a"}, {Name: "a", ResourceClaimName: ptr.To("A"), ResourceClaimTemplateName: ptr.To("t")}}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{{
		Name: "gang", Reason: "only the policy is required", Object: podGroup(same),
	}, {
		Name: "references", Reason: "the reference names a template of a workload", Gates: allGates, Object: podGroup(func(g *schedulingv1beta1.PodGroup) {
			g.Spec.WorkloadRef, g.Spec.ParentCompositePodGroupName = &schedulingv1beta1.WorkloadReference{}, ptr.To("parent")
		}),
		Want: []string{
			"spec.workloadRef.workloadName: Required value", "spec.workloadRef.templateName: Required value",
		},
	}, {
		Name: "parent without a workload", Reason: "the parent is made from a template of the same workload", Gates: allGates, Object: podGroup(func(g *schedulingv1beta1.PodGroup) {
			g.Spec.ParentCompositePodGroupName = ptr.To("parent")
		}),
		Want: []string{"spec.workloadRef: Required value: must be set when parentCompositePodGroupName is set"},
	}, {
		Name: "optional fields", Reason: "optional fields are checked too", Gates: allGates, Object: podGroup(func(g *schedulingv1beta1.PodGroup) {
			g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: make([]schedulingv1beta1.TopologyConstraint, 1)}
			g.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{}
			g.Spec.Priority, g.Spec.PreemptionPolicy = ptr.To[int32](1_000_000_001), ptr.To(schedulingv1beta1.PreemptionPolicy("Always"))
		}),
		Want: []string{
			"spec.schedulingConstraints.topology[0].key: Required value",
			"spec.disruptionMode: Invalid value: \"\": must specify one of: `single`, `all`",
			"spec.priority: Invalid value: 1000000001: must be less than or equal to 1000000000",
			`spec.preemptionPolicy: Unsupported value: "Always": supported values: "Never", "PreemptLowerPriority"`,
		},
	}, {
		Name: "two topologies", Reason: "the items of a list that is too long aren't checked", Gates: allGates, Object: podGroup(func(g *schedulingv1beta1.PodGroup) {
			g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: make([]schedulingv1beta1.TopologyConstraint, 2)}
		}),
		Want: []string{"spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item"},
	}, {
		Name: "claims", Reason: "each claim has a name and one source",
		Object: podGroup(func(g *schedulingv1beta1.PodGroup) { g.Spec.ResourceClaims = claims }),
		Want: []string{
			`spec.resourceClaims[1]: Duplicate value: {"name":"a","resourceClaimName":"A","resourceClaimTemplateName":"t"}`,
			"spec.resourceClaims[0]: Invalid value: \"\": must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
			"spec.resourceClaims[1]: Invalid value: \"{resourceClaimName, resourceClaimTemplateName}\": must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`",
			"spec.resourceClaims[1].resourceClaimName: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
		},
	}, {
		Name: "larger gang", Reason: "the size of a gang can change",
		Object: podGroup(func(g *schedulingv1beta1.PodGroup) { g.Spec.SchedulingPolicy = gang(3) }), Old: podGroup(same),
	}, {
		Name: "another priority", Reason: "the old policy has scheduled the group",
		Object: podGroup(func(g *schedulingv1beta1.PodGroup) { g.Spec.Priority = ptr.To[int32](1) }), Old: podGroup(same),
		Want: []string{"spec.priority: Invalid value: null: field is immutable"},
	}, {
		Name: "claim of nothing", Reason: "a status names only claims of the group", Object: podGroup(func(g *schedulingv1beta1.PodGroup) {
			g.Status.ResourceClaimStatuses = []schedulingv1beta1.PodGroupResourceClaimStatus{{Name: "a"}}
		}), Old: podGroup(same), Status: true,
		Want: []string{"status.resourceClaimStatuses[0].name: Invalid value: \"a\": must match the name of an entry in `spec.resourceClaims`"},
	}})
}

func TestPodGroupColumns(t *testing.T) {
	t.Parallel()
	scheduled := metav1.Condition{Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: metav1.ConditionTrue}
	group := func(spec schedulingv1beta1.PodGroupSpec, conditions ...metav1.Condition) *schedulingv1beta1.PodGroup {
		return &schedulingv1beta1.PodGroup{ObjectMeta: registrytest.MonthOld("x"), Spec: spec, Status: schedulingv1beta1.PodGroupStatus{Conditions: conditions}}
	}
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "new", Reason: "a group without conditions is pending",
			Object: group(schedulingv1beta1.PodGroupSpec{SchedulingPolicy: basic}),
			Want:   []any{"x", "Basic", "<none>", "Pending", "30d"},
		},
		{
			Name: "gang", Reason: "the row names the workload of the group",
			Object: group(schedulingv1beta1.PodGroupSpec{SchedulingPolicy: gang(2), WorkloadRef: &schedulingv1beta1.WorkloadReference{WorkloadName: "w"}},
				scheduled),
			Want: []any{"x", "Gang", "w", "Scheduled", "30d"},
		},
		{
			Name: "no place", Reason: "a group whose condition isn't true has no nodes",
			Object: group(schedulingv1beta1.PodGroupSpec{},
				metav1.Condition{Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: metav1.ConditionFalse}),
			Want: []any{"x", "Basic", "<none>", "Unschedulable", "30d"},
		},
		{
			Name: "preempted", Reason: "the reason of a disruption is more important than the scheduling",
			Object: group(schedulingv1beta1.PodGroupSpec{}, scheduled,
				metav1.Condition{Type: schedulingv1beta1.DisruptionTarget, Reason: "PreemptionByScheduler"}),
			Want: []any{"x", "Basic", "<none>", "PreemptionByScheduler", "30d"},
		},
	})
}
