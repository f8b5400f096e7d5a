package scheduling

import (
	"testing"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func workload(templates ...schedulingv1beta1.PodGroupTemplate) *schedulingv1beta1.Workload {
	return &schedulingv1beta1.Workload{ObjectMeta: registrytest.Stored("workload"), Spec: schedulingv1beta1.WorkloadSpec{PodGroupTemplates: templates}}
}

func TestWorkload(t *testing.T) {
	t.Parallel()
	template := func(name string, policy schedulingv1beta1.PodGroupSchedulingPolicy) schedulingv1beta1.PodGroupTemplate {
		return schedulingv1beta1.PodGroupTemplate{Name: name, SchedulingPolicy: policy}
	}
	owned, composite := workload(template("a", gang(1))), workload()
	owned.Spec.ControllerRef = &schedulingv1beta1.TypedLocalObjectReference{APIGroup: "batch", Kind: "a/b"}
	composite.Spec.CompositePodGroupTemplates = []schedulingv1beta1.CompositePodGroupTemplate{{Name: "c"}}
	high, low := template("high", basic), template("low", basic)
	high.Priority, low.Priority = ptr.To[int32](2), ptr.To[int32](1)
	group := func(name string, groups ...schedulingv1beta1.CompositePodGroupTemplate) schedulingv1beta1.CompositePodGroupTemplate {
		return schedulingv1beta1.CompositePodGroupTemplate{Name: name, CompositePodGroupTemplates: groups,
			SchedulingPolicy:  schedulingv1beta1.CompositePodGroupSchedulingPolicy{Basic: &schedulingv1beta1.CompositeBasicSchedulingPolicy{}},
			PodGroupTemplates: []schedulingv1beta1.PodGroupTemplate{template("pods-of-"+name, basic)}}
	}
	tree := func(groups ...schedulingv1beta1.CompositePodGroupTemplate) *schedulingv1beta1.Workload {
		w := workload()
		w.Spec.CompositePodGroupTemplates = groups
		return w
	}
	first := group("a")
	first.Priority = ptr.To[int32](1)
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{{
		Name: "two groups", Reason: "each template has a policy", Object: workload(template("a", gang(3)), template("b", basic)),
	}, {
		Name: "two priorities", Reason: "the groups of a workload are scheduled and preempted together", Object: workload(high, low),
		Want: []string{"spec: Invalid value: null: detected multiple priority configurations"},
	}, {
		Name: "nothing", Reason: "a workload without templates schedules nothing", Object: workload(),
		Want: []string{"spec: Invalid value: \"\": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`"},
	}, {
		Name: "composite", Reason: "a group of groups has a policy, too", Gates: allGates, Object: composite,
		Want: []string{
			`spec.compositePodGroupTemplates[0]: Invalid value: "c": must have at least one child PodGroupTemplate or CompositePodGroupTemplate`,
			"spec.compositePodGroupTemplates[0].schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`",
		},
	}, {
		Name: "tree", Reason: "a group of groups has groups", Gates: allGates, Object: tree(group("a", group("b"))),
	}, {
		Name: "same names", Reason: "a reference to a template is its name", Gates: allGates,
		Object: tree(group("a", group("pods-of-a"), group("a"))),
		Want: []string{
			`spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0].name: Duplicate value: "pods-of-a"`,
			`spec.compositePodGroupTemplates[0].compositePodGroupTemplates[1].name: Duplicate value: "a"`,
			`spec.compositePodGroupTemplates[0].compositePodGroupTemplates[1].podGroupTemplates[0].name: Duplicate value: "pods-of-a"`,
		},
	}, {
		Name: "two priorities in a tree", Reason: "the groups of a workload are scheduled and preempted together",
		Gates: allGates, Object: tree(first, group("b")),
		Want: []string{"spec: Invalid value: null: all priority and priorityClassName values must be identical, detected multiple values"},
	}, {
		Name: "templates", Reason: "each template has a name and one policy",
		Object: workload(
			template("", schedulingv1beta1.PodGroupSchedulingPolicy{}),
			template("b", schedulingv1beta1.PodGroupSchedulingPolicy{Basic: basic.Basic, Gang: gang(1).Gang}),
			template("c", gang(0)), template("d", gang(-1))),
		Want: []string{
			"spec.podGroupTemplates[0].name: Required value",
			"spec.podGroupTemplates[0].schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`",
			"spec.podGroupTemplates[1].schedulingPolicy: Invalid value: \"{basic, gang}\": must specify exactly one of: `basic`, `gang`",
			"spec.podGroupTemplates[2].schedulingPolicy.gang.minCount: Required value",
			"spec.podGroupTemplates[3].schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1",
		},
	}, {
		Name: "controller", Reason: "all parts of the reference are required", Object: owned,
		Want: []string{
			`spec.controllerRef.kind: Invalid value: "a/b": may not contain '/'`,
			"spec.controllerRef.name: Required value",
		},
	}, {
		Name: "larger gang", Reason: "the size of a gang can change", Object: workload(template("a", gang(3))),
		Old: workload(template("a", gang(2))),
	}, {
		Name: "another template", Reason: "groups are made of the old templates",
		Object: workload(template("b", gang(2))), Old: workload(template("a", gang(2))),
		Want: []string{"spec.podGroupTemplates[0]: Forbidden: item may not be added",
			"spec.podGroupTemplates: Forbidden: item may not be removed"},
	}, {
		Name: "another policy", Reason: "the old policy scheduled existing groups",
		Object: workload(template("a", basic)), Old: workload(template("a", gang(2))),
		Want: []string{
			"spec.podGroupTemplates[0].schedulingPolicy.basic: Invalid value: null: field is immutable",
			"spec.podGroupTemplates[0].schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set",
		},
	}})

	errs := validateWorkload(tree(group("a", group("b", group("c", group("d"))))))
	if len(errs) != 1 || errs[0].Field != "spec.compositePodGroupTemplates[0]" || errs[0].Detail != "maximum template hierarchy depth is 4" {
		t.Errorf("the depth of a tree is limited: want one error for its root, got %v", errs)
	}
}
