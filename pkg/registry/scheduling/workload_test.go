package scheduling

import (
	"testing"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
	for _, tc := range []struct {
		name, reason string
		errs         field.ErrorList
		want         []string
	}{{
		name: "two groups", reason: "each template has a policy", errs: validateWorkload(workload(template("a", gang(3)), template("b", basic))),
	}, {
		name: "two priorities", reason: "the groups of a workload are scheduled and preempted together", errs: validateWorkload(workload(high, low)),
		want: []string{"spec: Invalid value: null: detected multiple priority configurations"},
	}, {
		name: "nothing", reason: "a workload without templates schedules nothing", errs: validateWorkload(workload()),
		want: []string{"spec: Invalid value: \"\": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`"},
	}, {
		name: "composite", reason: "a group of groups has a policy, too", errs: validateWorkload(composite),
		want: []string{"spec.compositePodGroupTemplates[0].schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`"},
	}, {
		name: "templates", reason: "each template has a name and one policy",
		errs: validateWorkload(workload(
			template("", schedulingv1beta1.PodGroupSchedulingPolicy{}),
			template("b", schedulingv1beta1.PodGroupSchedulingPolicy{Basic: basic.Basic, Gang: gang(1).Gang}),
			template("c", gang(0)), template("d", gang(-1)))),
		want: []string{
			"spec.podGroupTemplates[0].name: Required value",
			"spec.podGroupTemplates[0].schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`",
			"spec.podGroupTemplates[1].schedulingPolicy: Invalid value: \"{basic, gang}\": must specify exactly one of: `basic`, `gang`",
			"spec.podGroupTemplates[2].schedulingPolicy.gang.minCount: Required value",
			"spec.podGroupTemplates[3].schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1",
		},
	}, {
		name: "controller", reason: "all parts of the reference are required", errs: validateWorkload(owned),
		want: []string{
			`spec.controllerRef.kind: Invalid value: "a/b": may not contain '/'`,
			"spec.controllerRef.name: Required value",
		},
	}, {
		name: "larger gang", reason: "the size of a gang can change", errs: validateWorkloadUpdate(workload(template("a", gang(3))), workload(template("a", gang(2)))),
	}, {
		name: "another template", reason: "groups are made of the old templates", errs: validateWorkloadUpdate(workload(template("b", gang(2))), workload(template("a", gang(2)))),
		want: []string{"spec.podGroupTemplates[0]: Forbidden: item may not be added", "spec.podGroupTemplates: Forbidden: item may not be removed"},
	}, {
		name: "another policy", reason: "the old policy scheduled existing groups", errs: validateWorkloadUpdate(workload(template("a", basic)), workload(template("a", gang(2)))),
		want: []string{
			"spec.podGroupTemplates[0].schedulingPolicy.basic: Invalid value: null: field is immutable",
			"spec.podGroupTemplates[0].schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set",
		},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, tc.errs, tc.want...)
		})
	}
}
