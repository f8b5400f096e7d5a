package scheduling

import (
	"testing"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func compositePodGroup(change func(*schedulingv1alpha3.CompositePodGroupSpec)) *schedulingv1alpha3.CompositePodGroup {
	g := &schedulingv1alpha3.CompositePodGroup{ObjectMeta: registrytest.Stored("group"), Spec: schedulingv1alpha3.CompositePodGroupSpec{
		WorkloadRef:      &schedulingv1alpha3.WorkloadReference{WorkloadName: "w", TemplateName: "t"},
		SchedulingPolicy: schedulingv1alpha3.CompositePodGroupSchedulingPolicy{Gang: &schedulingv1alpha3.CompositeGangSchedulingPolicy{MinGroupCount: 2}},
	}}
	defaultCompositePodGroup(g)
	change(&g.Spec)
	return g
}

func TestCompositePodGroup(t *testing.T) {
	t.Parallel()
	same := func(*schedulingv1alpha3.CompositePodGroupSpec) {}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{{
		Name: "gang", Reason: "a group of groups has a policy and a workload", Gates: allGates, Object: compositePodGroup(same),
	}, {
		Name: "nothing", Reason: "the reference and the policy are required", Gates: allGates, Object: compositePodGroup(func(s *schedulingv1alpha3.CompositePodGroupSpec) {
			*s = schedulingv1alpha3.CompositePodGroupSpec{}
		}),
		Want: []string{"spec.workloadRef: Required value",
			"spec.schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`",
			"spec.disruptionMode: Required value"},
	}, {
		Name: "another parent", Reason: "the tree of groups stays", Gates: allGates, Object: compositePodGroup(func(s *schedulingv1alpha3.CompositePodGroupSpec) {
			s.ParentCompositePodGroupName = ptr.To("parent")
		}), Old: compositePodGroup(same),
		Want: []string{"spec.parentCompositePodGroupName: Invalid value: null: field is immutable"},
	}})
}

func TestCompositePodGroupColumns(t *testing.T) {
	t.Parallel()
	group := compositePodGroup(func(*schedulingv1alpha3.CompositePodGroupSpec) {})
	group.ObjectMeta = registrytest.MonthOld("x")
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{Name: "gang", Reason: "the row names the workload of the group", Object: group, Want: []any{"x", "Gang", "w", "30d"}},
		{
			Name: "basic", Reason: "a group without a gang is basic",
			Object: &schedulingv1alpha3.CompositePodGroup{ObjectMeta: registrytest.MonthOld("x")},
			Want:   []any{"x", "Basic", "<none>", "30d"},
		},
	})
}
