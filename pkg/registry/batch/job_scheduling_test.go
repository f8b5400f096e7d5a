package batch

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestJobScheduling(t *testing.T) {
	t.Parallel()
	gates := []string{"WorkloadWithJob", "GenericWorkload"}
	basic := &schedulingv1alpha3.WorkloadPodGroupSchedulingPolicy{Basic: &schedulingv1alpha3.WorkloadPodGroupBasicSchedulingPolicy{}}
	gang := func(count int32) *schedulingv1alpha3.WorkloadPodGroupSchedulingPolicy {
		return &schedulingv1alpha3.WorkloadPodGroupSchedulingPolicy{Gang: &schedulingv1alpha3.WorkloadPodGroupGangSchedulingPolicy{MinCount: &count}}
	}
	all := &schedulingv1alpha3.WorkloadPodGroupDisruptionMode{All: &schedulingv1alpha3.WorkloadPodGroupAllDisruptionMode{}}
	scheduled := func(policy *schedulingv1alpha3.WorkloadPodGroupSchedulingPolicy, mode *schedulingv1alpha3.WorkloadPodGroupDisruptionMode) *batchv1.Job {
		return jobWith(func(j *batchv1.Job) {
			j.Spec.Parallelism = ptr.To[int32](2)
			j.Spec.Scheduling = &batchv1.JobSchedulingConfiguration{SchedulingPolicy: policy, DisruptionMode: mode}
		})
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{Name: "gang", Reason: "a gang is disrupted as a whole", Gates: gates, Object: scheduled(gang(2), all)},
		{
			Name: "large gang", Reason: "fewer pods run at the same time", Gates: gates, Object: scheduled(gang(3), nil),
			Want: []string{"spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 3: must not be greater than parallelism (2)"},
		},
		{
			Name: "no gang", Reason: "pods that are scheduled one by one are disrupted one by one", Gates: gates,
			Object: scheduled(basic, all),
			Want:   []string{"spec.scheduling.disruptionMode: Invalid value: \"\": the disruptionMode `all` is not supported with the Basic scheduling policy"},
		},
		{
			Name: "two modes", Reason: "the declared rule has the only error", Gates: gates,
			Object: scheduled(basic,
				&schedulingv1alpha3.WorkloadPodGroupDisruptionMode{All: all.All, Single: &schedulingv1alpha3.WorkloadPodGroupSingleDisruptionMode{}}),
			Want: []string{"spec.scheduling.disruptionMode: Invalid value: \"{single, all}\": must specify exactly one of: `single`, `all`"},
		},
		{
			Name: "other policy", Reason: "the pods are scheduled by the old policy", Gates: gates,
			Object: scheduled(basic, nil), Old: scheduled(gang(2), nil),
			Want: []string{
				"spec.scheduling.schedulingPolicy: Invalid value: null: the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be updated",
			},
		},
	})
}
